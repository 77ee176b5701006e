/* every thread waits for the bulk copy that it reads */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(order_bulk_all_wait, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float chunk[64];
    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_init(&full);
    }
    __syncthreads();
    if (t == 0) {
        gm_mbarrier_expect(&full, 256);
        gm_bulk_load(chunk, a.in + 64 * blockIdx.x, 256, &full, gm_evict_first());
    }
    gm_mbarrier_wait(&full, 0);
    a.out[i] = chunk[63 - t];
}
