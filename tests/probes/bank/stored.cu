/* each lane stores 4 bytes at offset + t * stride */
#include "bank.h"

GM_KERNEL(bank_stored, probe_args)
{
    __shared__ float held[BANK_BYTES / 4];
    int t = threadIdx.x;
    bank_fill(held, t);
    held[bank_index<float>(a, t)] = 1;
    __syncthreads();
    a.out[t] = held[t];
}
