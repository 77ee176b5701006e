/* every block writes the elements that it reads */
#include "../probe.h"

GM_KERNEL(written_each_block, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    GM_DYNAMIC_SHARED(float, held);
    if (t < 32) {
        held[2 * t] = i < a.n ? a.in[i] : 0;
        held[2 * t + 1] = 1;
    }
    __syncthreads();
    if (i < a.n) {
        a.out[i] = held[t];
    }
}
