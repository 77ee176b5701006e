/* an asynchronous copy of elements past the end */
#include "../probe.h"

GM_KERNEL(pipeline_past_end, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float held[256];
    __pipeline_memcpy_async(&held[4 * t], &a.in[4 * i], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    a.out[i] = held[4 * t];
}
