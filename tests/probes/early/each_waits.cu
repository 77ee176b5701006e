/* each thread waits for itself */
#include "../probe.h"

GM_KERNEL(early_each_waits, probe_args)
{
    int64_t i = probe_index();

    gm_wait_for_previous();
    if (i < a.n) {
        a.out[i] = 2 * a.in[i];
    }
}
