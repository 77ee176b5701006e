/* sums each block by a tree with a barrier per level */
#include "../probe.h"

GM_KERNEL(barrier_sum_tree, probe_args)
{
    __shared__ float held[256];
    int64_t i = probe_index();

    held[threadIdx.x] = i < a.n ? a.in[i] : 0;
    for (int width = 128; width > 0; width /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < width) {
            held[threadIdx.x] += held[threadIdx.x + width];
        }
    }
    __syncthreads();
    if (i < a.n) {
        a.out[i] = held[0];
    }
}
