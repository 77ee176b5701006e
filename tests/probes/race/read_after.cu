/* a thread reads its neighbour's element without a barrier */
#include "../probe.h"

GM_KERNEL(race_read_after, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    float before = held[t > 0 ? t - 1 : 0];
    if (i < a.n) {
        a.out[i] = before;
    }
}
