/* reads shared memory that no thread writes */
#include "../probe.h"

GM_KERNEL(unwritten_never, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    GM_DYNAMIC_SHARED(float, held);
    if (i < a.n) {
        a.out[i] = held[t];
    }
}
