/* a bulk store of elements that other threads write, without a barrier */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_bulk_store_too_early, probe_args)
{
    int t = threadIdx.x;

    __shared__ __align__(16) float chunk[64];
    if (t != 0) {
        chunk[t] = a.in[t];
    }
    gm_bulk_fence();
    __syncwarp();
    if (t == 63) {
        chunk[0] = a.in[0];
        gm_bulk_fence();
        gm_bulk_store(a.out, chunk, 256, gm_evict_first());
        gm_bulk_wait_read();
    }
}
