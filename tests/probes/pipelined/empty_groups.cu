/* groups and waits without copies */
#include "../probe.h"

GM_KERNEL(pipelined_empty_groups, probe_args)
{
    int64_t i = probe_index();

    for (int k = 0; k < 3; k++) {
        __pipeline_commit();
        __pipeline_wait_prior(1);
    }
    if (i < a.n) {
        a.out[i] = a.in[i];
    }
}
