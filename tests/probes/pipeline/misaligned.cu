/* sixteen bytes to an address that is a multiple of four */
#include "../probe.h"

GM_KERNEL(pipeline_misaligned, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float held[72];
    if (t == 0) {
        __pipeline_memcpy_async(&held[1], &a.in[0], 16);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    a.out[i] = 1;
}
