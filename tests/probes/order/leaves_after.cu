/* threads return at different places after the last barrier */
#include "../probe.h"

GM_KERNEL(order_leaves_after, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    __syncthreads();
    if (i >= a.n || t % 3 == 0) {
        return;
    }
    a.out[i] = held[63 - t];
}
