/* a thread that has waited may read what another wrote before it arrived */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(order_arrival_orders, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float chunk[64];
    __shared__ float factor;
    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_init(&full);
    }
    __syncthreads();
    if (t == 0) {
        factor = 2;
        gm_mbarrier_expect(&full, 256);
        gm_bulk_load(chunk, a.in + 64 * blockIdx.x, 256, &full, gm_evict_first());
    }
    gm_mbarrier_wait(&full, 0);
    a.out[i] = chunk[t] * factor;
}
