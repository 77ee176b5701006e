/* a size that no asynchronous copy has */
#include "../probe.h"

GM_KERNEL(pipeline_twelve_bytes, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float held[64];
    if (t == 0) {
        __pipeline_memcpy_async(&held[0], &a.in[0], 12);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    a.out[i] = 1;
}
