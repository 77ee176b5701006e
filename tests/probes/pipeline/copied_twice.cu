/* two copies to one place, without a wait between */
#include "../probe.h"

GM_KERNEL(pipeline_copied_twice, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    __pipeline_memcpy_async(&held[t], &a.in[i], 4);
    __pipeline_commit();
    __pipeline_memcpy_async(&held[t], &a.in[0], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    a.out[i] = held[t];
}
