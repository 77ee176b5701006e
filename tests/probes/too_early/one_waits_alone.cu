/* one thread waits, and the others do not meet it */
#include "../probe.h"

GM_KERNEL(too_early_one_waits_alone, probe_args)
{
    int64_t i = probe_index();

    if (threadIdx.x == 0) {
        gm_wait_for_previous();
    }
    if (i < a.n) {
        float value = a.in[i];
        a.out[i] = 2 * value;
    }
}
