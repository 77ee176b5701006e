/* half of the block waits for the other half, which has ended */
#include "../probe.h"

GM_KERNEL(fault_barrier_in_branch, probe_args)
{
    int64_t i = probe_index();
    if (threadIdx.x < 128) {
        __syncthreads();
    }
    if (i < a.n) {
        a.out[i] = 1;
    }
}
