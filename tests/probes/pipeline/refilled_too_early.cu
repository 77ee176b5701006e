/* a copy over an element that the neighbour reads, without a barrier between */
#include "../probe.h"

GM_KERNEL(pipeline_refilled_too_early, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    float sum = 0;
    for (int round = 0; round < 2; round++) {
        __pipeline_memcpy_async(&held[t], &a.in[i], 4);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        sum += held[63 - t];
    }
    a.out[i] = sum;
}
