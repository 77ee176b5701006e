/* a barrier of the block, but no wait, before a bulk copy is read */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_bulk_barrier_is_no_wait, probe_args)
{
    int t = threadIdx.x;

    __shared__ __align__(16) float chunk[16];
    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_init(&full);
        gm_mbarrier_expect(&full, 64);
        gm_bulk_load(chunk, a.in, 64, &full, gm_evict_first());
    }
    __syncthreads();
    float value = chunk[t % 16];
    gm_mbarrier_wait(&full, 0);
    if (t < 16) {
        a.out[t] = value;
    }
}
