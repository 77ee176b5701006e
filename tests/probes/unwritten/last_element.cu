/* reads elements that lie past the end of the array and were not filled */
#include "../probe.h"

GM_KERNEL(unwritten_last_element, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    if (i < a.n) {
        held[t] = a.in[i];
    }
    __syncthreads();
    if (i < a.n) {
        a.out[i] = held[63 - t];
    }
}
