/* an arrival also covers what the arriving thread has learnt from its warp */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(order_arrival_hands_on, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[32];
    __shared__ gm_mbarrier full;
    if (t == 0) {
        gm_mbarrier_init(&full);
    }
    __syncthreads();
    if (t < 32) {
        held[t] = a.in[i];
        __syncwarp();
        if (t == 0) {
            gm_mbarrier_expect(&full, 0);
        }
    }
    gm_mbarrier_wait(&full, 0);
    a.out[i] = held[31 - t % 32];
}
