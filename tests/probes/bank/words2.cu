/* each lane loads 8 bytes at offset + t * stride */
#include "bank.h"

GM_KERNEL(bank_words2, probe_args)
{
    __shared__ __align__(16) float2 held[BANK_BYTES / sizeof(float2)];
    int t = threadIdx.x;
    bank_fill(held, t);
    if (bank_takes_part(a, t)) {
        float2 whole = held[bank_index<float2>(a, t)];
        a.out[t] = whole.x;
    }
}
