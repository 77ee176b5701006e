/* a vote makes the lanes meet */
#include "../probe.h"

GM_KERNEL(order_vote_orders, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    bool any = __any_sync(0xffffffffu, held[t] > 0);
    if (i < a.n) {
        a.out[i] = any ? held[t ^ 7] : 0;
    }
}
