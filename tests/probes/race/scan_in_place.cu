/* a scan that reads and writes one array with one barrier per step */
#include "../probe.h"

GM_KERNEL(race_scan_in_place, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    for (int delta = 1; delta < 64; delta *= 2) {
        __syncthreads();
        if (t >= delta) {
            held[t] += held[t - delta];
        }
    }
    __syncthreads();
    if (i < a.n) {
        a.out[i] = held[t];
    }
}
