/* a barrier of the warp without its last lane, whose element is then read */
#include "../probe.h"

GM_KERNEL(race_one_lane_left_out, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    float sum = held[t];
    if (t % 32 < 31) {
        __syncwarp(0x7fffffffu);
        sum += held[t + 1];
    }
    if (i < a.n) {
        a.out[i] = sum;
    }
}
