/* stages that all threads read, refilled after a barrier */
#include "../probe.h"

GM_KERNEL(pipelined_ring_of_tiles, probe_args)
{
    int t = threadIdx.x;

    enum { STAGES = 2 };
    __shared__ float held[STAGES][64];
    int rounds = (int)a.stride;
    float sum = 0;
    for (int k = 0; k < rounds; k++) {
        int ahead = k == 0 ? 0 : k + STAGES - 1;
        for (; ahead < k + STAGES; ahead++) {
            if (ahead < rounds) {
                __pipeline_memcpy_async(&held[ahead % STAGES][t], &a.in[t + 64 * ahead], 4);
            }
            __pipeline_commit();
        }
        __pipeline_wait_prior(STAGES - 1);
        __syncthreads();
        sum += held[k % STAGES][63 - t];
        __syncthreads();
    }
    if (blockIdx.x == 0) {
        a.out[t] = sum;
    }
}
