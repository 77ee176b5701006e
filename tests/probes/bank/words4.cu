/* each lane loads 16 bytes at offset + t * stride */
#include "bank.h"

GM_KERNEL(bank_words4, probe_args)
{
    __shared__ __align__(16) float4 held[BANK_BYTES / sizeof(float4)];
    int t = threadIdx.x;
    bank_fill(held, t);
    if (bank_takes_part(a, t)) {
        float4 whole = held[bank_index<float4>(a, t)];
        a.out[t] = whole.x;
    }
}
