/* inclusive prefix sum within the warp */
#include "../probe.h"

GM_KERNEL(barrier_warp_scan, probe_args)
{
    int64_t i = probe_index();
    float sum = i < a.n ? a.in[i] : 0;
    int lane = threadIdx.x % 32;

    for (int delta = 1; delta < 32; delta *= 2) {
        float below = __shfl_up_sync(0xffffffffu, sum, delta);
        if (lane >= delta) {
            sum += below;
        }
    }
    if (i < a.n) {
        a.out[i] = sum;
    }
}
