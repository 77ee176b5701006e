/* reads another thread's element of dynamic shared memory without a barrier */
#include "../probe.h"

GM_KERNEL(race_dynamic, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    GM_DYNAMIC_SHARED(float, held);
    held[t] = i < a.n ? a.in[i] : 0;
    if (i < a.n) {
        a.out[i] = held[63 - t];
    }
}
