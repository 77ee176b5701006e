/* an mbarrier expects bytes, but no copy brings them */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(fault_bulk_never_loaded, probe_args)
{
    __shared__ gm_mbarrier full;
    if (threadIdx.x == 0) {
        gm_mbarrier_init(&full);
        gm_mbarrier_expect(&full, 64);
        gm_mbarrier_wait(&full, 0);
        a.out[0] = 1;
    }
}
