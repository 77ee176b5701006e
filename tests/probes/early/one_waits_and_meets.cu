/* one thread waits, and meets the others at a barrier */
#include "../probe.h"

GM_KERNEL(early_one_waits_and_meets, probe_args)
{
    int64_t i = probe_index();

    if (threadIdx.x == 0) {
        gm_wait_for_previous();
    }
    __syncthreads();
    if (i < a.n) {
        a.out[i] = 2 * a.in[i];
    }
}
