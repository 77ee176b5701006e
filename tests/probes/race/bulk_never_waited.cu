/* no thread waits for a bulk copy before the block ends */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_bulk_never_waited, probe_args)
{
    int t = threadIdx.x;

    __shared__ __align__(16) float chunk[64];
    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_init(&full);
        gm_mbarrier_expect(&full, 256);
        gm_bulk_load(chunk, a.in, 256, &full, gm_evict_first());
    }
    a.out[t] = 1;
}
