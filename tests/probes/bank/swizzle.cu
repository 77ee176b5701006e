/* a column of a 32 x 32 tile, its rows permuted by exclusive or */
#include "../probe.h"

GM_KERNEL(bank_swizzle, probe_args)
{
    int t = threadIdx.x;
    __shared__ float held[4096];
    for (int k = t; k < 4096; k += 32) {
        ((float *)held)[k] = (float)k;
    }
    __syncthreads();
    int column = (int)a.offset;
    a.out[t] = held[32 * t + (column ^ (t & 31))];
}
