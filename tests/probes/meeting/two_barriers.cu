/* threads whose number has the bit `offset` wait at another barrier than the others */
#include "../probe.h"

GM_KERNEL(meeting_two_barriers, probe_args)
{
    int64_t i = probe_index();

    if (threadIdx.x >> a.offset & 1) {
        __syncthreads();
    } else {
        __syncthreads();
    }
    if (i < a.n) {
        a.out[i] = 1;
    }
}
