/* alternating blocks copy to different places */
#include "../probe.h"

GM_KERNEL(pipelined_other_slots, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[2][64];
    int slot = blockIdx.x % 2;
    __pipeline_memcpy_async(&held[slot][t], &a.in[i % a.n], 4);
    __pipeline_commit();
    held[1 - slot][t] = 1;
    float one = held[1 - slot][t];
    __pipeline_wait_prior(0);
    if (i < a.n) {
        a.out[i] = held[slot][t] * one;
    }
}
