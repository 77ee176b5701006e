/* two threads initialise an mbarrier that all wait for */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(race_mbarrier_twice, probe_args)
{
    int t = threadIdx.x;

    __shared__ gm_mbarrier full;
    if (t % 32 == 0) {
        gm_mbarrier_init(&full);
    }
    __syncthreads();
    if (t == 0) {
        gm_mbarrier_expect(&full, 0);
    }
    gm_mbarrier_wait(&full, 0);
    a.out[t] = a.in[t];
}
