/* one float per thread, at offset + i * stride */
#include "../probe.h"

GM_KERNEL(pattern_affine, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        int64_t from = (a.offset + i * a.stride) % a.n;
        a.out[i] = a.in[from];
    }
}
