/* reads more than the bulk copy brought */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(unwritten_bulk_too_short, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float chunk[64];
    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_init(&full);
        gm_mbarrier_expect(&full, 128);
        gm_bulk_load(chunk, a.in, 128, &full, gm_evict_first());
        gm_mbarrier_wait(&full, 0);
    }
    __syncthreads();
    if (i < a.n) {
        a.out[i] = chunk[t];
    }
}
