/* reuses an array, with a barrier before and after */
#include "../probe.h"

GM_KERNEL(order_two_barriers, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    float sum = 0;
    for (int round = 0; round < 3; round++) {
        held[t] = i < a.n ? a.in[i] : 0;
        __syncthreads();
        sum += held[63 - t];
        __syncthreads();
    }
    if (i < a.n) {
        a.out[i] = sum;
    }
}
