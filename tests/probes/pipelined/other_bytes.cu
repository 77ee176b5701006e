/* stores beside the destination of a pending copy */
#include "../probe.h"

GM_KERNEL(pipelined_other_bytes, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[2][64];
    __pipeline_memcpy_async(&held[0][t], &a.in[i % a.n], 4);
    __pipeline_commit();
    held[1][t] = 1;
    float one = held[1][t];
    __pipeline_wait_prior(0);
    if (i < a.n) {
        a.out[i] = held[0][t] * one;
    }
}
