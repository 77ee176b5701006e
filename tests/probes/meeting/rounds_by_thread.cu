/* the number of barriers depends on the thread */
#include "../probe.h"

GM_KERNEL(meeting_rounds_by_thread, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    for (int round = 0; round <= t / 32; round++) {
        __syncthreads();
    }
    if (i < a.n) {
        a.out[i] = 1;
    }
}
