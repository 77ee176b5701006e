/* the tail of the array is read by a thread that did not fill it up */
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
