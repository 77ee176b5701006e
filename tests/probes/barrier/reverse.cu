/* reverses each block through shared memory */
#include "../probe.h"

GM_KERNEL(barrier_reverse, probe_args)
{
    __shared__ float held[256];
    int64_t i = probe_index();
    int last =
        (int)(a.n - (int64_t)blockIdx.x * 256 < 256 ? a.n - (int64_t)blockIdx.x * 256 : 256) - 1;

    if (i < a.n) {
        held[threadIdx.x] = a.in[i];
    }
    __syncthreads();
    if (i < a.n) {
        a.out[i] = held[last - (int)threadIdx.x];
    }
}
