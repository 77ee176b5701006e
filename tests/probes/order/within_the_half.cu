/* a barrier of half a warp is enough to exchange elements within it */
#include "../probe.h"

GM_KERNEL(order_within_the_half, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    __syncwarp(t % 32 < 16 ? 0x0000ffffu : 0xffff0000u);
    if (i < a.n) {
        a.out[i] = held[t ^ 15];
    }
}
