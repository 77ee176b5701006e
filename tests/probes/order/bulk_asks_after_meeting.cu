/* the engine's store comes after what the warp wrote before the copy was asked for */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(order_bulk_asks_after_meeting, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float chunk[32];
    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_init(&full);
    }
    __syncthreads();
    if (t < 32) {
        chunk[t] = 1;
        if (t == 0) {
            gm_mbarrier_expect(&full, 128);
        }
        gm_bulk_fence();
        __syncwarp();
        if (t == 0) {
            gm_bulk_load(chunk, a.in + 64 * blockIdx.x, 128, &full, gm_evict_first());
        }
    } else {
        gm_mbarrier_wait(&full, 0);
        chunk[t - 32] += 1;
        a.out[i] = chunk[t - 32];
    }
}
