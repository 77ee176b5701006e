/* all threads read one element after a barrier */
#include "../probe.h"

GM_KERNEL(order_all_read_one, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held;
    if (t == 0) {
        held = i < a.n ? a.in[i] : 0;
    }
    __syncthreads();
    if (i < a.n) {
        a.out[i] = held;
    }
}
