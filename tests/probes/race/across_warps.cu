/* a barrier of the warp does not order the other warp */
#include "../probe.h"

GM_KERNEL(race_across_warps, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    __syncwarp();
    if (i < a.n) {
        a.out[i] = held[(t + 32) % 64];
    }
}
