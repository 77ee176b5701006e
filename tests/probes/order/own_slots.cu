/* a thread that uses only its own elements needs no barrier */
#include "../probe.h"

GM_KERNEL(order_own_slots, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[4][64];
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        held[k][t] = i < a.n ? a.in[i] : 0;
    }
    for (int k = 0; k < 4; k++) {
        held[k][t] += 1;
        sum += held[3 - k][t] * 0 + held[k][t];
    }
    if (i < a.n) {
        a.out[i] = sum;
    }
}
