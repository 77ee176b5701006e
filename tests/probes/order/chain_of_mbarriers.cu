/* warp 0 arrives for warp 1, which arrives for warp 2 */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(order_chain_of_mbarriers, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held;
    __shared__ gm_mbarrier full[2];
    if (t == 0) {
        gm_mbarrier_init(&full[0]);
        gm_mbarrier_init(&full[1]);
    }
    __syncthreads();
    if (t == 64) {
        gm_mbarrier_wait(&full[1], 0);
        a.out[i] = held;
    } else if (t == 32) {
        gm_mbarrier_wait(&full[0], 0);
        gm_mbarrier_expect(&full[1], 0);
    } else if (t == 0) {
        held = 1;
        gm_mbarrier_expect(&full[0], 0);
    }
}
