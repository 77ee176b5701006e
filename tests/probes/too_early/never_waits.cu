/* no thread waits */
#include "../probe.h"

GM_KERNEL(too_early_never_waits, probe_args)
{
    int64_t i = probe_index();

    if (i < a.n) {
        float value = a.in[i];
        a.out[i] = 2 * value;
    }
}
