/* the same with 16 bytes */
#include "../probe.h"

GM_KERNEL(bank_some_lanes4, probe_args)
{
    int t = threadIdx.x;
    __shared__ float4 held[1024];
    for (int k = t; k < 4096; k += 32) {
        ((float *)held)[k] = (float)k;
    }
    __syncthreads();
    if (a.offset >> t & 1) {
        float4 whole = held[(t * a.stride) & 1023];
        a.out[t] = whole.x;
    }
}
