/* another thread's copy, waited for, is read with no barrier after the wait */
#include "../probe.h"

GM_KERNEL(pipeline_other_no_barrier, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    __pipeline_memcpy_async(&held[t], &a.in[i], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    a.out[i] = held[t ^ 1];
}
