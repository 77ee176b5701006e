/* a copy that its thread never waits for */
#include "../probe.h"

GM_KERNEL(pipeline_never_waited, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    __pipeline_memcpy_async(&held[t], &a.in[i], 4);
    __pipeline_commit();
    a.out[i] = 1;
}
