/* lanes of one warp meet at different barriers */
#include "../probe.h"

GM_KERNEL(meeting_odd_lanes, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    if (t % 2) {
        __syncthreads();
    } else {
        __syncthreads();
    }
    if (i < a.n) {
        a.out[i] = 1;
    }
}
