/* all threads load one address */
#include "../probe.h"

GM_KERNEL(pattern_same, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        a.out[i] = a.in[a.offset];
    }
}
