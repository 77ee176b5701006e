/* the same with 4 bytes, by the lanes whose number has a bit in offset */
#include "../probe.h"

GM_KERNEL(bank_some_lanes, probe_args)
{
    int t = threadIdx.x;
    __shared__ float held[4096];
    for (int k = t; k < 4096; k += 32) {
        ((float *)held)[k] = (float)k;
    }
    __syncthreads();
    if (a.offset >> t & 1) {
        a.out[t] = held[(t * a.stride) & 4095];
    }
}
