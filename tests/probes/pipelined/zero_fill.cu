/* elements past the end become zero and are not read */
#include "../probe.h"

GM_KERNEL(pipelined_zero_fill, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float4 held[64];
    int64_t left = a.n - 4 * i;
    size_t fill = left >= 4 ? 0 : left <= 0 ? 16 : 4 * (size_t)(4 - left);
    __pipeline_memcpy_async(&held[t], a.in + (fill < 16 ? 4 * i : 0), 16, fill);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    float4 whole = held[t];
    for (int k = 0; k < 4; k++) {
        if (4 * i + k < a.n) {
            a.out[4 * i + k] = k == 0 ? whole.x : k == 1 ? whole.y : k == 2 ? whole.z : whole.w;
        }
    }
}
