/* a store before the wait: the kernel before may still read there */
#include "../probe.h"

GM_KERNEL(too_early_stores_first, probe_args)
{
    int64_t i = probe_index();

    if (i < a.n) {
        a.out[i] = 0;
    }
    gm_wait_for_previous();
    if (i < a.n) {
        a.out[i] = 2 * a.in[i];
    }
}
