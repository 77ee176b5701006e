/* each thread writes two bytes, one of them its neighbour's */
#include "../probe.h"

GM_KERNEL(race_byte_overlap, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ unsigned char held[65];
    held[t] = 1;
    held[t + 1] = 2;
    __syncthreads();
    if (i < a.n) {
        a.out[i] = held[t];
    }
}
