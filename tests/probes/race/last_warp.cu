/* a tree whose last levels assume that a warp runs in lockstep */
#include "../probe.h"

GM_KERNEL(race_last_warp, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    __syncthreads();
    if (t < 32) {
        held[t] += held[t + 32];
        for (int width = 16; width > 0; width /= 2) {
            if (t < width) {
                held[t] += held[t + width];
            }
        }
    }
    __syncthreads();
    if (i < a.n) {
        a.out[i] = held[0];
    }
}
