/* lanes 0 and 1 meet, then lanes 1 and 2: lane 2 may read what lane 0 wrote */
#include "../probe.h"

GM_KERNEL(order_chain, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    int lane = t % 32;
    held[t] = i < a.n ? a.in[i] : 0;
    if (lane < 2) {
        __syncwarp(0x3u);
    }
    if (lane == 1 || lane == 2) {
        __syncwarp(0x6u);
    }
    if (i < a.n) {
        a.out[i] = held[lane == 2 ? t - 2 : t];
    }
}
