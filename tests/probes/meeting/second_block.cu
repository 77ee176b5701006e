/* in the second block one thread skips the barrier */
#include "../probe.h"

GM_KERNEL(meeting_second_block, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    if (blockIdx.x == 0 || t > 0) {
        __syncthreads();
    }
    if (i < a.n) {
        a.out[i] = 1;
    }
}
