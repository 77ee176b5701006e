/* a thread other than the one that asked for a bulk store waits for it */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_bulk_another_waits, probe_args)
{
    int t = threadIdx.x;

    __shared__ __align__(16) float chunk[64];
    chunk[t] = a.in[t];
    gm_bulk_fence();
    __syncthreads();
    if (t < 2) {
        gm_bulk_store(a.out + 32 * t, chunk + 32 * t, 128, gm_evict_first());
    }
    __syncwarp();
    if (t == 1) {
        gm_bulk_wait_read();
        chunk[33] = 0;
        chunk[1] = 0;
    }
    __syncwarp();
    if (t == 0) {
        gm_bulk_wait_read();
    }
}
