/* reads another thread's copy after that thread's wait, without a barrier */
#include "../probe.h"

GM_KERNEL(pipeline_other_no_barrier, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    __pipeline_memcpy_async(&held[t], &a.in[i], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    a.out[i] = held[t ^ 1];
}
