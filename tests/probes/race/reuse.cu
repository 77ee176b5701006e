/* a barrier after the writes, but none before the next round's */
#include "../probe.h"

GM_KERNEL(race_reuse, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    float sum = 0;
    for (int round = 0; round < 2; round++) {
        held[t] = i < a.n ? a.in[i] : 0;
        __syncthreads();
        sum += held[63 - t];
    }
    if (i < a.n) {
        a.out[i] = sum;
    }
}
