/* a bulk copy that begins inside and ends outside */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(fault_bulk_past_end, probe_args)
{
    GM_DYNAMIC_SHARED(float, chunk);
    __shared__ gm_mbarrier full;
    if (threadIdx.x == 0) {
        gm_mbarrier_init(&full);
        gm_mbarrier_expect(&full, 128);
        gm_bulk_load(chunk, a.in + a.n - 16, 128, &full, gm_evict_first());
        gm_mbarrier_wait(&full, 0);
        a.out[0] = chunk[0];
    }
}
