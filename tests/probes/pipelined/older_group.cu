/* reads the older of two groups while the newer is pending */
#include "../probe.h"

GM_KERNEL(pipelined_older_group, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[2][64];
    __pipeline_memcpy_async(&held[0][t], &a.in[i % a.n], 4);
    __pipeline_commit();
    __pipeline_memcpy_async(&held[1][t], &a.in[0], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    float sum = held[0][t];
    __pipeline_wait_prior(0);
    sum += held[1][t];
    if (i < a.n) {
        a.out[i] = sum;
    }
}
