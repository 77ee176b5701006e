/* one half of a warp meets, and then writes what the other half has read */
#include "../probe.h"

GM_KERNEL(race_half_has_met, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held;
    if (t == 0) {
        held = 1;
    }
    __syncthreads();
    float value = held;
    if (t < 16) {
        __syncwarp(0xffffu);
    }
    if (t == 0) {
        held = 2;
    }
    a.out[i] = value;
}
