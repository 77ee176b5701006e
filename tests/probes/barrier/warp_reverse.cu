/* reverses each warp through shared memory, with a barrier of the warp */
#include "../probe.h"

GM_KERNEL(barrier_warp_reverse, probe_args)
{
    __shared__ float held[256];
    int64_t i = probe_index();
    int lane = threadIdx.x % 32;

    held[threadIdx.x] = i < a.n ? a.in[i] : 0;
    __syncwarp();
    float mirrored = held[threadIdx.x - lane + 31 - lane];
    if (i < a.n) {
        a.out[i] = mirrored;
    }
}
