/* lanes permuted inside their line */
#include "../probe.h"

GM_KERNEL(pattern_permuted, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        a.out[i] = a.in[i ^ 21];
    }
}
