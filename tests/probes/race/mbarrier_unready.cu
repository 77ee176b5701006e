/* a thread waits on an mbarrier that another initialises, without a barrier */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_mbarrier_unready, probe_args)
{
    int t = threadIdx.x;

    __shared__ __align__(16) float chunk[64];
    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_init(&full);
        gm_mbarrier_expect(&full, 256);
        gm_bulk_load(chunk, a.in, 256, &full, gm_evict_first());
    }
    gm_mbarrier_wait(&full, 0);
    a.out[t] = chunk[t];
}
