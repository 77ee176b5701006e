/* reads through an integer that is no address */
#include "../probe.h"

GM_KERNEL(survival_wild, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        a.out[i] = a.in[i] ? *(const float *)a.offset : 0;
    }
}
