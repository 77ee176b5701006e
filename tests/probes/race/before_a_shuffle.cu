/* a race, and then a shuffle whose mask leaves the lane out */
#include "../probe.h"

GM_KERNEL(race_before_a_shuffle, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    if (t % 2 == 1 && i < a.n) {
        float before = held[t - 1];
        a.out[i] = __shfl_xor_sync(0x55555555u, before, 1);
    }
}
