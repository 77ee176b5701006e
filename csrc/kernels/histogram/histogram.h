/*
 * histogram: how often each of the 256 values occurs among the bytes of an array.
 */
#ifndef GPUMEM_HISTOGRAM_H
#define GPUMEM_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HISTOGRAM_BINS = 256,
    HISTOGRAM_THREADS = 256,         /* of a block */
    HISTOGRAM_BANKED_THREADS = 1024, /* of a block of lane_banks: 32 KiB of counters serve more */
    HISTOGRAM_BANKED_BLOCKS = 2,     /* of these per multiprocessor */
};

typedef struct histogram_args {
    const unsigned char *in;
    unsigned long long *out; /* all 0 at the launch */
    int64_t bytes;
    bool once; /* the bytes should not stay in the L2: see the plan */
} histogram_args;

#ifdef __cplusplus
#include "atomics.h"

/* Adds a block's count to the result. The counters of blocks have 32 bits, which is enough: see the
 * plan. */
GM_DEVICE void histogram_give(const histogram_args &a, int bin, unsigned count)
{
    if (count > 0) {
        atomicAdd(&a.out[bin], (unsigned long long)count);
    }
}

/* Sets the counters of a block, `count` words, to 0. */
GM_DEVICE void histogram_clear(unsigned *counters, int count)
{
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        counters[i] = 0;
    }
    __syncthreads();
}

/* Adds up the histograms of the block's warps. */
GM_DEVICE void histogram_give_warps(const histogram_args &a, const unsigned *counters)
{
    __syncthreads();
    unsigned count = 0;
    for (int warp = 0; warp < HISTOGRAM_THREADS / 32; warp++) {
        count += counters[warp * HISTOGRAM_BINS + threadIdx.x];
    }
    histogram_give(a, threadIdx.x, count);
}
#endif

#endif
