/* two stages, each refilled after a barrier */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(order_bulk_ring, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float chunk[2][64];
    __shared__ gm_mbarrier full[2];
    float sum = 0;
    if (t == 0) {
        for (int stage = 0; stage < 2; stage++) {
            gm_mbarrier_init(&full[stage]);
            gm_mbarrier_expect(&full[stage], 256);
            gm_bulk_load(chunk[stage], a.in + 64 * stage, 256, &full[stage], gm_evict_first());
        }
    }
    __syncthreads();
    for (int round = 0; round < 6; round++) {
        int stage = round % 2;
        gm_mbarrier_wait(&full[stage], round / 2 % 2);
        sum += chunk[stage][63 - t];
        __syncthreads();
        if (t == 0 && round < 4) {
            gm_mbarrier_expect(&full[stage], 256);
            gm_bulk_load(chunk[stage], a.in + 64 * stage, 256, &full[stage], gm_evict_first());
        }
    }
    a.out[i] = sum;
}
