/* waits for the older of two groups and reads the newer */
#include "../probe.h"

GM_KERNEL(pipeline_waits_for_too_few, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[2][64];
    __pipeline_memcpy_async(&held[0][t], &a.in[i], 4);
    __pipeline_commit();
    __pipeline_memcpy_async(&held[1][t], &a.in[i], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    a.out[i] = held[0][t] + held[1][t];
    __pipeline_wait_prior(0);
}
