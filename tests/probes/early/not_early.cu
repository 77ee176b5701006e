/* a launch that is not early needs no wait */
#include "../probe.h"

GM_KERNEL(early_not_early, probe_args)
{
    int64_t i = probe_index();

    if (i < a.n) {
        a.out[i] = 2 * a.in[i];
    }
}
