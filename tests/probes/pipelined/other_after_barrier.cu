/* another thread's copy, after its wait and a barrier */
#include "../probe.h"

GM_KERNEL(pipelined_other_after_barrier, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    float sum = 0;
    for (int round = 0; round < 2; round++) {
        __pipeline_memcpy_async(&held[t], &a.in[i % a.n], 4);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        sum += held[63 - t];
        __syncthreads();
    }
    if (i < a.n) {
        a.out[i] = sum;
    }
}
