/* lane t loads the 4-byte word at offset + t * stride */
#include "../probe.h"

GM_KERNEL(bank_words, probe_args)
{
    int t = threadIdx.x;
    __shared__ float held[4096];
    for (int k = t; k < 4096; k += 32) {
        ((float *)held)[k] = (float)k;
    }
    __syncthreads();
    a.out[t] = held[(a.offset + t * a.stride) & 4095];
}
