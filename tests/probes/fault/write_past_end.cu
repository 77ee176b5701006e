/* the thread after the last one stores, too */
#include "../probe.h"

GM_KERNEL(fault_write_past_end, probe_args)
{
    int64_t i = probe_index();
    if (i <= a.n) {
        a.out[i] = 1;
    }
}
