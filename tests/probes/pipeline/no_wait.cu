/* a thread reads its own copy without a wait */
#include "../probe.h"

GM_KERNEL(pipeline_no_wait, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    __pipeline_memcpy_async(&held[t], &a.in[i], 4);
    __pipeline_commit();
    float value = held[t];
    __pipeline_wait_prior(0);
    a.out[i] = value;
}
