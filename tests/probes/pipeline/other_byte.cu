/* a thread overwrites one byte of its copy; another reads the other bytes without a barrier */
#include "../probe.h"

GM_KERNEL(pipeline_other_byte, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ int held[64];
    unsigned char *bytes = (unsigned char *)held;
    __pipeline_memcpy_async(&held[t], &a.in[i], 4);
    __pipeline_commit();
    __syncthreads();
    __pipeline_wait_prior(0);
    bytes[4 * t] = 0;
    if (t >= 32) {
        a.out[i] = bytes[4 * (t - 32) + 3];
    }
}
