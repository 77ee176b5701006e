/* the same with one byte */
#include "../probe.h"

GM_KERNEL(bank_bytes, probe_args)
{
    int t = threadIdx.x;
    __shared__ float held[4096];
    for (int k = t; k < 4096; k += 32) {
        ((float *)held)[k] = (float)k;
    }
    __syncthreads();
    a.out[t] = ((const unsigned char *)held)[(a.offset + t * a.stride) & 16383];
}
