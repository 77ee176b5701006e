/* a copy, committed, waited for and read by its own thread */
#include "../probe.h"

GM_KERNEL(pipelined_one, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    if (i < a.n) {
        __pipeline_memcpy_async(&held[t], &a.in[i], 4);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (i < a.n) {
        a.out[i] = held[t];
    }
}
