/* a bulk store of more than was written */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(unwritten_bulk_stored, probe_args)
{
    int t = threadIdx.x;

    __shared__ __align__(16) float chunk[64];
    if (t < 32) {
        chunk[t] = a.in[t];
    }
    gm_bulk_fence();
    __syncthreads();
    if (t == 0) {
        gm_bulk_store(a.out, chunk, 256, gm_evict_first());
        gm_bulk_wait_read();
    }
}
