/* each thread writes and reads a byte of its own, beside its neighbours' */
#include "../probe.h"

GM_KERNEL(order_own_bytes, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ unsigned char held[64];
    for (int round = 0; round < 3; round++) {
        held[t] = (unsigned char)(t + round);
    }
    if (i < a.n) {
        a.out[i] = held[t];
    }
}
