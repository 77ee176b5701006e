/* one warp passes a barrier once more and meets the others at the next one */
#include "../probe.h"

GM_KERNEL(meeting_more_rounds, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    for (int round = 0; round < (t < 32 ? 2 : 1); round++) {
        __syncthreads();
    }
    if (t >= 32) {
        __syncthreads();
    }
    if (i < a.n) {
        a.out[i] = 1;
    }
}
