/* even lanes wait for a copy that lane 31 has asked for, then a barrier of the warp */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(order_bulk_odd_lanes_wait, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float chunk[64];
    __shared__ gm_mbarrier full;
    if (t == 31) {
        gm_mbarrier_init(&full);
    }
    __syncwarp();
    if (t < 32) {
        if (t == 31) {
            gm_mbarrier_expect(&full, 256);
            gm_bulk_load(chunk, a.in + 64 * blockIdx.x, 256, &full, gm_evict_first());
            __syncwarp();
        } else {
            if (t % 2 == 0) {
                gm_mbarrier_wait(&full, 0);
            }
            __syncwarp();
        }
        a.out[i] = chunk[t];
        a.out[i + 32] = chunk[t + 32];
    }
}
