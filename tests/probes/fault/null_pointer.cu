/* a load through a null pointer */
#include "../probe.h"

GM_KERNEL(fault_null_pointer, probe_args)
{
    const float *nowhere = (const float *)(a.offset * 4);
    int64_t i = probe_index();
    if (i < a.n) {
        a.out[i] = nowhere[0];
    }
}
