/* the barrier of the warp comes before the write */
#include "../probe.h"

GM_KERNEL(race_meets_too_early, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    __syncwarp();
    held[t] = i < a.n ? a.in[i] : 0;
    if (i < a.n) {
        a.out[i] = held[t ^ 1];
    }
}
