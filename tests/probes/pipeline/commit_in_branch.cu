/* a rolling pipeline that commits only in rounds that still copy */
#include "../probe.h"

GM_KERNEL(pipeline_commit_in_branch, probe_args)
{
    int t = threadIdx.x;

    enum { DISTANCE = 3 };
    __shared__ float held[DISTANCE][64];
    int rounds = (int)a.stride;
    float sum = 0;
    for (int k = 0; k < DISTANCE; k++) {
        if (k < rounds) {
            __pipeline_memcpy_async(&held[k][t], &a.in[t + 64 * k], 4);
        }
        __pipeline_commit();
    }
    for (int k = 0; k < rounds; k++) {
        __pipeline_wait_prior(DISTANCE - 1);
        sum += held[k % DISTANCE][t];
        int next = k + DISTANCE;
        if (next < rounds) {
            __pipeline_memcpy_async(&held[next % DISTANCE][t], &a.in[t + 64 * next], 4);
            __pipeline_commit();
        }
    }
    if (blockIdx.x == 0) {
        a.out[t] = sum;
    }
}
