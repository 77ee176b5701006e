/* a thread's wait covers only its own copies */
#include "../probe.h"

GM_KERNEL(pipeline_one_waits_for_all, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    __pipeline_memcpy_async(&held[t], &a.in[i], 4);
    __pipeline_commit();
    if (t == 0) {
        __pipeline_wait_prior(0);
    }
    __syncthreads();
    a.out[i] = held[63 - t];
    __pipeline_wait_prior(0);
}
