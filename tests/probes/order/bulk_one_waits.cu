/* one thread waits for the bulk copy, then a barrier of the block */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(order_bulk_one_waits, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float chunk[64];
    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_init(&full);
        gm_mbarrier_expect(&full, 256);
        gm_bulk_load(chunk, a.in + 64 * blockIdx.x, 256, &full, gm_evict_first());
        gm_mbarrier_wait(&full, 0);
    }
    __syncthreads();
    a.out[i] = chunk[63 - t];
}
