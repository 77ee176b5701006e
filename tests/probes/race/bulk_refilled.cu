/* a chunk is refilled while other threads still read it */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_bulk_refilled, probe_args)
{
    int t = threadIdx.x;

    __shared__ __align__(16) float chunk[64];
    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_init(&full);
    }
    __syncthreads();
    for (int round = 0; round < 2; round++) {
        if (t == 0) {
            gm_mbarrier_expect(&full, 256);
            gm_bulk_load(chunk, a.in + 64 * round, 256, &full, gm_evict_first());
            gm_mbarrier_wait(&full, round);
        }
        __syncthreads();
        a.out[64 * round + t] = chunk[63 - t];
        gm_bulk_fence();
    }
}
