/* a thread arrives at an mbarrier that is not initialised */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_mbarrier_unmade, probe_args)
{
    int t = threadIdx.x;

    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_expect(&full, 0);
        a.out[0] = 1;
    }
}
