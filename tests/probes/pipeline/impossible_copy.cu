/* a copy to element `offset`, of stride % 256 bytes, stride / 256 of which become zero */
#include "../probe.h"

GM_KERNEL(pipeline_impossible_copy, probe_args)
{
    int64_t i = probe_index();

    __shared__ __align__(16) float held[72];
    if (threadIdx.x == 0) {
        __pipeline_memcpy_async(&held[a.offset], &a.in[0], a.stride % 256, a.stride / 256);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    a.out[i] = 1;
}
