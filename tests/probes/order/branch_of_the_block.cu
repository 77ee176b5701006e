/* each block as a whole takes one of two branches with a barrier */
#include "../probe.h"

GM_KERNEL(order_branch_of_the_block, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    if (blockIdx.x % 2) {
        __syncthreads();
    } else {
        __syncthreads();
    }
    if (i < a.n) {
        a.out[i] = held[63 - t];
    }
}
