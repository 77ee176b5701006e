/* a thread without an element leaves before the barrier */
#include "../probe.h"

GM_KERNEL(fault_early_exit, probe_args)
{
    int64_t i = probe_index();
    if (i >= a.n) {
        return;
    }
    __syncthreads();
    a.out[i] = a.in[i];
}
