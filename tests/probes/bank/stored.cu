/* lane t stores the 4-byte word at t * stride */
#include "../probe.h"

GM_KERNEL(bank_stored, probe_args)
{
    int t = threadIdx.x;
    __shared__ float held[4096];
    for (int k = t; k < 4096; k += 32) {
        ((float *)held)[k] = (float)k;
    }
    __syncthreads();
    held[(t * a.stride) & 4095] = 1;
    __syncthreads();
    a.out[t] = held[t];
}
