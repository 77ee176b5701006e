/* a lane waits, then a barrier of the warp: all lanes may read */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(order_waiter_hands_on, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held;
    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_init(&full);
    }
    __syncthreads();
    if (t == 0) {
        held = a.in[i];
        gm_mbarrier_expect(&full, 0);
    }
    if (t % 32 == 0) {
        gm_mbarrier_wait(&full, 0);
    }
    __syncwarp();
    a.out[i] = held;
}
