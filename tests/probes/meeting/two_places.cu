/* half of the block meets here, the other half there */
#include "../probe.h"

GM_KERNEL(meeting_two_places, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    if (t < 32) {
        __syncthreads();
    } else {
        __syncthreads();
    }
    if (i < a.n) {
        a.out[i] = 1;
    }
}
