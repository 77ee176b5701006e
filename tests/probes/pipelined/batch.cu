/* several copies in one group */
#include "../probe.h"

GM_KERNEL(pipelined_batch, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[4][64];
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < 4; k++) {
            __pipeline_memcpy_async(&held[k][t], &a.in[(i + k) % a.n], 4);
        }
        __pipeline_commit();
        __pipeline_wait_prior(0);
    }
    if (i < a.n) {
        a.out[i] = held[0][t] + held[1][t] + held[2][t] + held[3][t];
    }
}
