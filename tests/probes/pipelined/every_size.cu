/* copies of 4, 8 and 16 bytes */
#include "../probe.h"

GM_KERNEL(pipelined_every_size, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float4 held[64];
    float *part = (float *)&held[t];
    const float *from = a.in + 4 * (i % (a.n / 4));
    switch (t % 3) {
    case 0: __pipeline_memcpy_async(part, from, 16); break;
    case 1:
        __pipeline_memcpy_async(part, from, 8);
        __pipeline_memcpy_async(part + 2, from + 2, 8);
        break;
    default:
        for (int k = 0; k < 4; k++) {
            __pipeline_memcpy_async(part + k, from + k, 4);
        }
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (i < a.n) {
        a.out[i] = part[3];
    }
}
