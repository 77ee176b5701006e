/* lanes read a copy and meet, and their first lane has the engine write over it */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_bulk_read_under_way, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float chunk[2][32];
    __shared__ gm_mbarrier full[2];
    int warp = t / 32;
    float sum = 0;
    if (t % 32 == 0) {
        gm_mbarrier_init(&full[warp]);
    }
    for (int round = 0; round < 3; round++) {
        if (t % 32 == 0) {
            gm_mbarrier_expect(&full[warp], 128);
            gm_bulk_load(chunk[warp], a.in + 64 * blockIdx.x + 32 * warp, 128, &full[warp],
                         gm_evict_first());
            gm_mbarrier_wait(&full[warp], round % 2);
        }
        __syncwarp();
        sum += chunk[warp][31 - t % 32];
        __syncwarp();
    }
    a.out[i] = sum;
}
