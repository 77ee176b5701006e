/* a bulk store of what all threads have written, with a barrier and no fence */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_bulk_store_unfenced, probe_args)
{
    int t = threadIdx.x;

    __shared__ __align__(16) float chunk[64];
    chunk[t] = a.in[t];
    __syncthreads();
    if (t == 0) {
        gm_bulk_store(a.out, chunk, 256, gm_evict_first());
        gm_bulk_wait_read();
    }
}
