/* reads one element past those written in dynamic shared memory */
#include "../probe.h"

GM_KERNEL(unwritten_dynamic, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    GM_DYNAMIC_SHARED(float, held);
    held[t] = i < a.n ? a.in[i] : 0;
    __syncthreads();
    if (i < a.n) {
        a.out[i] = held[t + 1];
    }
}
