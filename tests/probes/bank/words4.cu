/* the same with 16 bytes */
#include "../probe.h"

GM_KERNEL(bank_words4, probe_args)
{
    int t = threadIdx.x;
    __shared__ float4 held[1024];
    for (int k = t; k < 4096; k += 32) {
        ((float *)held)[k] = (float)k;
    }
    __syncthreads();
    float4 whole = held[(a.offset + t * a.stride) & 1023];
    a.out[t] = whole.x + whole.y + whole.z + whole.w;
}
