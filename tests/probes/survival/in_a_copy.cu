/* gives memcpy an address without memory */
#include "../probe.h"

GM_KERNEL(survival_in_a_copy, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n && a.in[i] == 1) {
        memcpy(a.out, (const void *)a.offset, a.stride);
    }
}
