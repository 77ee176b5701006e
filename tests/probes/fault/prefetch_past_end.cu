/* a prefetch of bytes past the end of the array */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(fault_prefetch_past_end, probe_args)
{
    int64_t i = 4 * probe_index();
    if (i < a.n) {
        gm_bulk_prefetch(a.in + i, 1024);
        a.out[i] = a.in[i];
    }
}
