/* a store past the end of dynamic shared memory */
#include "../probe.h"

GM_KERNEL(fault_dynamic_past_end, probe_args)
{
    GM_DYNAMIC_SHARED(float, held);
    int64_t i = probe_index();
    held[threadIdx.x + 1] = 1;
    __syncthreads();
    if (i < a.n) {
        a.out[i] = held[threadIdx.x];
    }
}
