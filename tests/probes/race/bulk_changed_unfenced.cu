/* the copy of the engine is changed by all threads, but for one without a fence, and stored */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_bulk_changed_unfenced, probe_args)
{
    int t = threadIdx.x;

    __shared__ __align__(16) float chunk[64];
    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_init(&full);
        gm_mbarrier_expect(&full, 256);
        gm_bulk_load(chunk, a.in, 256, &full, gm_evict_first());
        gm_mbarrier_wait(&full, 0);
    }
    __syncthreads();
    chunk[t] += 1;
    if (t != 37) {
        gm_bulk_fence();
    }
    __syncthreads();
    if (t == 0) {
        gm_bulk_store(a.out, chunk, 256, gm_evict_first());
        gm_bulk_wait_read();
    }
}
