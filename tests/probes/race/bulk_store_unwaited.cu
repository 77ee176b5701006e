/* a thread ends while its bulk store may still read shared memory */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_bulk_store_unwaited, probe_args)
{
    int t = threadIdx.x;

    __shared__ __align__(16) float chunk[64];
    chunk[t] = a.in[t];
    gm_bulk_fence();
    __syncthreads();
    if (t == 0) {
        gm_bulk_store(a.out, chunk, 256, gm_evict_first());
    }
}
