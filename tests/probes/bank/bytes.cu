/* each lane loads one byte at offset + t * stride */
#include "bank.h"

GM_KERNEL(bank_bytes, probe_args)
{
    __shared__ __align__(16) unsigned char held[BANK_BYTES / sizeof(unsigned char)];
    int t = threadIdx.x;
    bank_fill(held, t);
    if (bank_takes_part(a, t)) {
        a.out[t] = held[bank_index<unsigned char>(a, t)];
    }
}
