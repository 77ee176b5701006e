/*
 * histogram / vec16: 16 bytes per load.
 *
 * Follows  per_warp, whose warps ask for one sector of 32 bytes at a time.
 * Idea     a load of 128 bits brings 16 bytes, which are counted from a register: a 16th of the
 *          loads, and 512 bytes in flight per warp. The address must be a multiple of 16.
 * Machine  LDG.E.128, ATOMS.POPC.INC.32
 */
#include "histogram.h"

GM_DEVICE void count_word(unsigned *counters, unsigned word)
{
    atomicAdd(&counters[word & 0xff], 1u);
    atomicAdd(&counters[word >> 8 & 0xff], 1u);
    atomicAdd(&counters[word >> 16 & 0xff], 1u);
    atomicAdd(&counters[word >> 24], 1u);
}

GM_KERNEL(histogram_vec16, histogram_args)
{
    __shared__ unsigned counters[HISTOGRAM_THREADS / 32 * HISTOGRAM_BINS];
    histogram_clear(counters, HISTOGRAM_THREADS / 32 * HISTOGRAM_BINS);

    unsigned *own = counters + threadIdx.x / 32 * HISTOGRAM_BINS;
    const int64_t vectors = a.bytes / 16, stride = (int64_t)gridDim.x * blockDim.x;
    const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (int64_t i = thread; i < vectors; i += stride) {
        const uint4 v = ((const uint4 *)a.in)[i];
        count_word(own, v.x);
        count_word(own, v.y);
        count_word(own, v.z);
        count_word(own, v.w);
    }
    if (thread < a.bytes - 16 * vectors) {
        atomicAdd(&own[a.in[16 * vectors + thread]], 1u);
    }
    histogram_give_warps(a, counters);
}
