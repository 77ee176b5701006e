/* the first thread loads the element before the start */
#include "../probe.h"

GM_KERNEL(fault_read_before_start, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        float before = a.in[i - 1];
        a.out[i] = before;
    }
}
