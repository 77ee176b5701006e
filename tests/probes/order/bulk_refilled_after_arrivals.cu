/* lanes that have read arrive at an mbarrier, for which the one that refills waits */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(order_bulk_refilled_after_arrivals, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float chunk[64];
    __shared__ gm_mbarrier full, empty[2]; /* one for each warp */
    float sum = 0;
    if (t == 0) {
        gm_mbarrier_init(&full);
        gm_mbarrier_init(&empty[0]);
        gm_mbarrier_init(&empty[1]);
    }
    __syncthreads();
    for (int round = 0; round < 3; round++) {
        if (t == 0) {
            for (int warp = 0; warp < 2 && round > 0; warp++) {
                gm_mbarrier_wait(&empty[warp], (round - 1) % 2);
            }
            gm_mbarrier_expect(&full, 256);
            gm_bulk_load(chunk, a.in + 64 * blockIdx.x, 256, &full, gm_evict_first());
        }
        gm_mbarrier_wait(&full, round % 2);
        sum += chunk[63 - t];
        __syncwarp();
        if (t % 32 == 0) {
            gm_mbarrier_expect(&empty[t / 32], 0); /* announces no bytes: an arrival */
        }
    }
    a.out[i] = sum;
}
