/* the last of three groups is never waited for */
#include "../probe.h"

GM_KERNEL(pipeline_last_group_unwaited, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[3][64];
    for (int k = 0; k < 3; k++) {
        __pipeline_memcpy_async(&held[k][t], &a.in[i], 4);
        __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    a.out[i] = held[0][t] + held[1][t];
}
