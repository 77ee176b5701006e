/* reads a neighbour's element after a barrier */
#include "../probe.h"

GM_KERNEL(order_barrier_between, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    __syncthreads();
    if (i < a.n) {
        a.out[i] = held[(t + 1) % 64];
    }
}
