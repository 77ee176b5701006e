/* a column of a 32 x 32 tile */
#include "../probe.h"

GM_KERNEL(bank_column, probe_args)
{
    int t = threadIdx.x;
    __shared__ float held[4096];
    for (int k = t; k < 4096; k += 32) {
        ((float *)held)[k] = (float)k;
    }
    __syncthreads();
    int column = (int)a.offset;
    a.out[t] = held[32 * t + column];
}
