/*
 * gather / checked: a short index is checked, and followed, by one kernel.
 *
 * Follows  cached behind index_range: two launches, between which the host waits for the first.
 * Idea     each block checks the whole index, and moves its elements if all of it is in range: no
 *          block waits for another, and a wrong index moves nothing. The first one says so to the
 *          host, in memory of the host: it reads that until it changes, which takes less than
 *          waiting for the kernel's end.
 */
#include "gather.h"

enum { UNROLL = 8 }; /* loads of a thread under way at once: the host waits for them */

/* Whether a thread finds one of its elements of the index out of range. */
GM_DEVICE bool gather_finds_wrong(const gather_args &a)
{
    bool wrong = false;
    for (int64_t first = threadIdx.x; first < a.count; first += UNROLL * (int64_t)blockDim.x) {
        int64_t at[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) {
            const int64_t k = min(first + i * (int64_t)blockDim.x, a.count - 1);
            at[i] = gather_index(a.index, a.index_size, a.index_stride, k);
        }
#pragma unroll
        for (int i = 0; i < UNROLL; i++) {
            wrong = wrong || at[i] < -a.length || at[i] >= a.length;
        }
    }
    return wrong;
}

GM_KERNEL(gather_checked, gather_args)
{
    if (a.verdict) { /* otherwise the index is long, and was checked before */
        const bool wrong = __syncthreads_or(gather_finds_wrong(a));
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            *a.verdict = wrong ? GATHER_WRONG : GATHER_RIGHT;
        }
        if (wrong) {
            return;
        }
    }
    ACCESS_EACH_SIZE(unit, gather_unrolled<1, unit>(a))
}
