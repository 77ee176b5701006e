/* the same with 8 bytes */
#include "../probe.h"

GM_KERNEL(bank_some_lanes2, probe_args)
{
    int t = threadIdx.x;
    __shared__ float2 held[2048];
    for (int k = t; k < 4096; k += 32) {
        ((float *)held)[k] = (float)k;
    }
    __syncthreads();
    if (a.offset >> t & 1) {
        float2 whole = held[(t * a.stride) & 2047];
        a.out[t] = whole.x;
    }
}
