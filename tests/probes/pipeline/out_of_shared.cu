/* an asynchronous copy out of shared memory */
#include "../probe.h"

GM_KERNEL(pipeline_out_of_shared, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = 1;
    __pipeline_memcpy_async(&a.out[i], &held[t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
}
