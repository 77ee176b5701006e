/* one float per thread, stored at offset + i * stride if that is in bounds */
#include "../probe.h"

GM_KERNEL(pattern_affine_store, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        int64_t to = a.offset + i * a.stride;
        if (to < a.n) {
            a.out[to] = a.in[i];
        }
    }
}
