/* a race, and then a load past the end by the same thread */
#include "../probe.h"

GM_KERNEL(race_before_the_end, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    if (t % 2 == 1 && i < a.n) {
        a.out[i] = held[t - 1] + a.in[a.n];
    }
}
