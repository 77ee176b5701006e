/* correct: the control */
#include "../probe.h"

GM_KERNEL(fault_none, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        a.out[i] = a.in[i];
    }
}
