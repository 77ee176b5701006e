/* each lane loads from one column of a 32 x 32 tile whose rows are permuted by exclusive or */
#include "bank.h"

GM_KERNEL(bank_swizzle, probe_args)
{
    __shared__ float held[BANK_BYTES / 4];
    int t = threadIdx.x, column = (int)a.offset;
    bank_fill(held, t);
    a.out[t] = held[32 * t + (column ^ (t & 31))];
}
