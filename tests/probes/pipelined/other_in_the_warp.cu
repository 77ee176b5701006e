/* another lane's copy, after its wait and a barrier of the warp */
#include "../probe.h"

GM_KERNEL(pipelined_other_in_the_warp, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    __pipeline_memcpy_async(&held[t], &a.in[i % a.n], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    if (i < a.n) {
        a.out[i] = held[t ^ 31];
    }
}
