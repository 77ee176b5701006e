/* the barrier comes before the wait */
#include "../probe.h"

GM_KERNEL(pipeline_barrier_before_wait, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    __pipeline_memcpy_async(&held[t], &a.in[i], 4);
    __pipeline_commit();
    __syncthreads();
    __pipeline_wait_prior(0);
    a.out[i] = held[63 - t];
}
