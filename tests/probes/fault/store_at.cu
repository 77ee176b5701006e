/* stores to any address */
#include "../probe.h"

GM_KERNEL(fault_store_at, probe_args)
{
    float *anywhere = (float *)a.offset;
    if (probe_index() == 0) {
        anywhere[0] = 1;
    }
}
