/* a prefetch before the wait: it reads nothing */
#include "../probe.h"

GM_KERNEL(early_prefetches_first, probe_args)
{
    int64_t i = probe_index();

    if (i < a.n) {
        gm_prefetch_l2(a.in + i);
    }
    gm_wait_for_previous();
    if (i < a.n) {
        a.out[i] = 2 * a.in[i];
    }
}
