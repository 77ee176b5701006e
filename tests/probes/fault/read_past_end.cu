/* the last thread loads the element past the end */
#include "../probe.h"

GM_KERNEL(fault_read_past_end, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        float next = a.in[i + 1];
        a.out[i] = next;
    }
}
