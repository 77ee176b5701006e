/* a tree whose last levels use barriers of the warp */
#include "../probe.h"

GM_KERNEL(order_last_warp, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    held[t] = i < a.n ? a.in[i] : 0;
    __syncthreads();
    if (t < 32) {
        float sum = held[t] + held[t + 32];
        for (int width = 16; width > 0; width /= 2) {
            held[t] = sum;
            __syncwarp();
            sum += t < width ? held[t + width] : 0;
            __syncwarp();
        }
        held[t] = sum;
    }
    __syncthreads();
    if (i < a.n) {
        a.out[i] = held[0];
    }
}
