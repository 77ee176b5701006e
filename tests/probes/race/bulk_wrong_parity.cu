/* waits for the phase before the one that the copy belongs to */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_bulk_wrong_parity, probe_args)
{
    __shared__ __align__(16) float chunk[32];
    __shared__ gm_mbarrier full;
    if (threadIdx.x == 0) {
        gm_mbarrier_init(&full);
        gm_mbarrier_expect(&full, 128);
        gm_bulk_load(chunk, a.in, 64, &full, gm_evict_first());
        gm_mbarrier_wait(&full, 1);
        a.out[0] = chunk[0];
        gm_bulk_load(chunk + 16, a.in, 64, &full, gm_evict_first()); /* the rest */
        gm_mbarrier_wait(&full, 0);
    }
}
