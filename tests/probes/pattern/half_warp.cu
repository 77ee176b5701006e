/* only even lanes load and store */
#include "../probe.h"

GM_KERNEL(pattern_half_warp, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        if (i % 2 == 0) {
            a.out[i] = a.in[i];
        }
    }
}
