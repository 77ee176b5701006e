/* a store to the destination of a pending copy */
#include "../probe.h"

GM_KERNEL(pipeline_overwritten, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    __pipeline_memcpy_async(&held[t], &a.in[i], 4);
    __pipeline_commit();
    held[t] = 0;
    __pipeline_wait_prior(0);
    a.out[i] = held[t];
}
