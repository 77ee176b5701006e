/* zeros from past the end count in a sum */
#include "../probe.h"

GM_KERNEL(pipelined_zero_sum, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float4 held[64];
    int64_t left = a.n - 4 * i;
    size_t fill = left >= 4 ? 0 : left <= 0 ? 16 : 4 * (size_t)(4 - left);
    for (int round = 0; round < 2; round++) {
        __pipeline_memcpy_async(&held[t], a.in + (fill < 16 && round ? 4 * i : 0), 16,
                                round ? fill : 16);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        if (round == 0) {
            held[t] = make_float4(5, 5, 5, 5);
        }
    }
    float4 whole = held[t];
    if (i < a.n) {
        a.out[i] = whole.x + whole.y + whole.z + whole.w;
    }
}
