/* the same with 8 bytes */
#include "../probe.h"

GM_KERNEL(bank_words2, probe_args)
{
    int t = threadIdx.x;
    __shared__ float2 held[2048];
    for (int k = t; k < 4096; k += 32) {
        ((float *)held)[k] = (float)k;
    }
    __syncthreads();
    float2 whole = held[(a.offset + t * a.stride) & 2047];
    a.out[t] = whole.x + whole.y;
}
