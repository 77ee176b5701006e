/* a bulk copy from an address that is not a multiple of 16 */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(fault_bulk_misaligned, probe_args)
{
    GM_DYNAMIC_SHARED(float, chunk);
    __shared__ gm_mbarrier full;
    if (threadIdx.x == 0) {
        gm_mbarrier_init(&full);
        gm_mbarrier_expect(&full, 64);
        gm_bulk_load(chunk, a.in + 1, 64, &full, gm_evict_first());
        gm_mbarrier_wait(&full, 0);
        a.out[0] = chunk[0];
    }
}
