/* reads the bytes of a bulk copy without a wait */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_bulk_read_at_once, probe_args)
{
    __shared__ __align__(16) float chunk[16];
    __shared__ gm_mbarrier full;
    if (threadIdx.x == 0) {
        gm_mbarrier_init(&full);
        gm_mbarrier_expect(&full, 64);
        gm_bulk_load(chunk, a.in, 64, &full, gm_evict_first());
        a.out[0] = chunk[3];
        gm_mbarrier_wait(&full, 0);
    }
}
