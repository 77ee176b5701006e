/* a shuffle (stride 0) or a vote (stride 1) orders the lanes of a warp */
#include "../probe.h"

GM_KERNEL(order_warp_operation_orders, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    float other = 0;
    if (a.stride == 0) {
        other = __shfl_sync(0xffffffffu, held[t], 0);
    } else {
        other = (float)__any_sync(0xffffffffu, held[t] > 0);
    }
    if (i < a.n) {
        a.out[i] = held[t ^ 7] + other;
    }
}
