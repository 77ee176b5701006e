/* the last thread asks for the bulk copy that all threads wait for */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(order_bulk_last_warp_asks, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float chunk[64];
    __shared__ gm_mbarrier full;
    if (t == 63) {
        gm_mbarrier_init(&full);
    }
    __syncthreads();
    for (int round = 0; round < 3; round++) {
        if (t == 63) {
            gm_mbarrier_expect(&full, 256);
            gm_bulk_load(chunk, a.in + 64 * blockIdx.x, 256, &full, gm_evict_first());
        }
        gm_mbarrier_wait(&full, round % 2);
        float sum = chunk[t] + __shfl_xor_sync(0xffffffffu, chunk[t], 1);
        a.out[i] = sum;
        __syncthreads();
    }
}
