/* one float per thread */
#include "../probe.h"

GM_KERNEL(speed_copy, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        a.out[i] = a.in[i];
    }
}
