/* a block reads back what it stored itself */
#include "../probe.h"

GM_KERNEL(order_blocks_read_own, probe_args)
{
    int64_t i = probe_index();

    if (i < a.n) {
        a.out[i] = a.in[i];
    }
    __syncthreads();
    int64_t mirror = 64 * (int64_t)blockIdx.x + 63 - threadIdx.x;
    float value = mirror < a.n ? a.out[mirror] : 0;
    __syncthreads();
    if (i < a.n) {
        a.out[i] = value;
    }
}
