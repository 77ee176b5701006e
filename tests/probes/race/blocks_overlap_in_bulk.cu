/* bulk stores of two blocks overlap in their second halves */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_blocks_overlap_in_bulk, probe_args)
{
    int t = threadIdx.x;

    __shared__ __align__(16) float chunk[64];
    chunk[t] = 1;
    gm_bulk_fence();
    __syncthreads();
    if (t == 0 && blockIdx.x < 2) {
        gm_bulk_store(a.out + 4048 + 48 * blockIdx.x, chunk, 256, gm_evict_first());
        gm_bulk_wait_read();
    }
}
