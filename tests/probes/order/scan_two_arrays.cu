/* a scan that alternates between two arrays */
#include "../probe.h"

GM_KERNEL(order_scan_two_arrays, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[2][64];
    int from = 0;
    held[0][t] = i < a.n ? a.in[i] : 0;
    for (int delta = 1; delta < 64; delta *= 2) {
        __syncthreads();
        held[1 - from][t] = held[from][t] + (t >= delta ? held[from][t - delta] : 0);
        from = 1 - from;
    }
    if (i < a.n) {
        a.out[i] = held[from][t];
    }
}
