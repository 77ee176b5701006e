/* an index that no thread wrote leads out of bounds */
#include "../probe.h"

GM_KERNEL(unwritten_as_index, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    GM_DYNAMIC_SHARED(int64_t, where);
    int64_t at = where[t] | (int64_t)1 << 40;
    if (i < a.n) {
        a.out[i] = a.in[at];
    }
}
