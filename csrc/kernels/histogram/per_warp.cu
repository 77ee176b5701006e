/*
 * histogram / per_warp: a histogram per warp.
 *
 * Follows  shared, where the eight warps of a block compete for 256 counters.
 * Idea     each warp has 256 counters of its own, 8 KiB per block: fewer threads meet at one.
 * Cost     the lanes of a warp still share them.
 */
#include "histogram.h"

GM_KERNEL(histogram_per_warp, histogram_args)
{
    __shared__ unsigned counters[HISTOGRAM_THREADS / 32 * HISTOGRAM_BINS];
    histogram_clear(counters, HISTOGRAM_THREADS / 32 * HISTOGRAM_BINS);

    unsigned *own = counters + threadIdx.x / 32 * HISTOGRAM_BINS;
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.bytes; i += stride) {
        atomicAdd(&own[a.in[i]], 1u);
    }
    histogram_give_warps(a, counters);
}
