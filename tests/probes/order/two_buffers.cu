/* two alternating arrays need one barrier per round */
#include "../probe.h"

GM_KERNEL(order_two_buffers, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[2][64];
    float sum = 0;
    for (int round = 0; round < 4; round++) {
        held[round % 2][t] = i < a.n ? a.in[i] : 0;
        __syncthreads();
        sum += held[round % 2][63 - t];
    }
    if (i < a.n) {
        a.out[i] = sum;
    }
}
