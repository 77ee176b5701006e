/* more bytes are to be zero than are copied */
#include "../probe.h"

GM_KERNEL(pipeline_filled_up_too_far, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    __pipeline_memcpy_async(&held[t], &a.in[i], 4, 8);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    a.out[i] = held[t];
}
