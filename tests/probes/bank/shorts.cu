/* each lane loads two bytes at offset + t * stride */
#include "bank.h"

GM_KERNEL(bank_shorts, probe_args)
{
    __shared__ __align__(16) unsigned short held[BANK_BYTES / sizeof(unsigned short)];
    int t = threadIdx.x;
    bank_fill(held, t);
    if (bank_takes_part(a, t)) {
        a.out[t] = held[bank_index<unsigned short>(a, t)];
    }
}
