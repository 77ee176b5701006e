/* shared memory is written while a bulk store may still read it */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_bulk_overwritten, probe_args)
{
    int t = threadIdx.x;

    __shared__ __align__(16) float chunk[64];
    chunk[t] = a.in[t];
    gm_bulk_fence();
    __syncthreads();
    if (t == 0) {
        gm_bulk_store(a.out, chunk, 256, gm_evict_first());
        chunk[5] = 0;
        gm_bulk_wait_read();
    }
}
