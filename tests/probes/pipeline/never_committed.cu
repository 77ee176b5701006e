/* a copy that its thread never commits */
#include "../probe.h"

GM_KERNEL(pipeline_never_committed, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    if (t == 7) {
        __pipeline_memcpy_async(&held[t], &a.in[i], 4);
    }
    __pipeline_wait_prior(0);
    a.out[i] = 1;
}
