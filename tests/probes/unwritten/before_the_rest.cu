/* reads 32 elements, the first half of which was not written; the rest is in the next 64 words */
#include "../probe.h"

GM_KERNEL(unwritten_before_the_rest, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[128];
    if (t < 32) {
        held[64 + t] = a.in[i];
    }
    __syncthreads();
    if (t < 32 && i < a.n) {
        a.out[i] = held[48 + t];
    }
}
