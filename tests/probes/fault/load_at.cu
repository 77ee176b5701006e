/* loads from any address */
#include "../probe.h"

GM_KERNEL(fault_load_at, probe_args)
{
    const float *anywhere = (const float *)a.offset;
    if (probe_index() == 0) {
        a.out[0] = anywhere[0];
    }
}
