/* sums each warp by shuffles */
#include "../probe.h"

GM_KERNEL(barrier_warp_sum, probe_args)
{
    int64_t i = probe_index();
    float sum = i < a.n ? a.in[i] : 0;

    for (int lanes = 16; lanes > 0; lanes /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    }
    if (i < a.n) {
        a.out[i] = sum;
    }
}
