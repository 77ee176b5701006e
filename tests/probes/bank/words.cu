/* each lane loads 4 bytes at offset + t * stride */
#include "bank.h"

GM_KERNEL(bank_words, probe_args)
{
    __shared__ __align__(16) float held[BANK_BYTES / sizeof(float)];
    int t = threadIdx.x;
    bank_fill(held, t);
    if (bank_takes_part(a, t)) {
        a.out[t] = held[bank_index<float>(a, t)];
    }
}
