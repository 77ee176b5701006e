/* all warps read an element, and then the third writes it: it must not, without a barrier */
#include "../probe.h"

GM_KERNEL(race_among_readers, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[128];
    held[t] = i < a.n ? a.in[i] : 0;
    __syncthreads();
    float first = held[0];
    if (t == 70) {
        held[0] = 1;
    }
    if (i < a.n) {
        a.out[i] = first;
    }
}
