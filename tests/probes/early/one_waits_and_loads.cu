/* one thread waits and asks the copy engine; the others wait for its bytes */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(early_one_waits_and_loads, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float chunk[64];
    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_init(&full);
    }
    __syncthreads();
    if (t == 0) {
        gm_wait_for_previous();
        gm_mbarrier_expect(&full, sizeof chunk);
        gm_bulk_load(chunk, a.in + 64 * blockIdx.x, sizeof chunk, &full, gm_evict_first());
    }
    gm_mbarrier_wait(&full, 0);
    a.out[i] = 2 * chunk[t];
}
