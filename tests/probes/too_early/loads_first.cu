/* the first load is before the wait */
#include "../probe.h"

GM_KERNEL(too_early_loads_first, probe_args)
{
    int64_t i = probe_index();
    float value = i < a.n ? a.in[i] : 0;

    gm_wait_for_previous();
    if (i < a.n) {
        a.out[i] = 2 * value;
    }
}
