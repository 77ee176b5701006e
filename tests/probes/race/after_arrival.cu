/* an arrival does not cover what the thread writes after it */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_after_arrival, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float factor;
    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_init(&full);
    }
    __syncthreads();
    if (t == 0) {
        gm_mbarrier_expect(&full, 0);
        factor = 2;
    }
    gm_mbarrier_wait(&full, 0);
    a.out[i] = factor;
}
