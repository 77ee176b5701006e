/* each half of a warp meets, and then reads the other half's elements */
#include "../probe.h"

GM_KERNEL(race_across_halves, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    __syncwarp(t % 32 < 16 ? 0x0000ffffu : 0xffff0000u);
    if (i < a.n) {
        a.out[i] = held[t ^ 16];
    }
}
