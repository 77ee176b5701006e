/* the source of a bulk store is written again after a wait */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(order_bulk_store_and_reuse, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float chunk[64];
    for (int round = 0; round < 2; round++) {
        chunk[t] = a.in[i] + round;
        gm_bulk_fence();
        __syncthreads();
        if (t == 0) {
            gm_bulk_store(a.out + 64 * blockIdx.x, chunk, 256, gm_evict_first());
            gm_bulk_wait_read();
        }
        __syncthreads();
    }
}
