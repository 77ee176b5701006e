/*
 * histogram / lane_banks: each lane counts in a bank of its own.
 *
 * Follows  vec16, whose lanes meet in banks and at counters.
 * Idea     32 copies of the histogram, 32 KiB per block: the copy of lane k is in bank k, since a
 *          bin is a row of 32 words. The lanes of a warp never meet, at a counter or in a bank, so
 *          that an array of one value takes as many passes as one of random bytes. Warps share the
 *          copies.
 *
 *              bank      0      1      2          31
 *              bin 0   lane 0 lane 1 lane 2 … lane 31
 *              bin 1   lane 0 lane 1 lane 2 … lane 31
 *
 * Cost     32 KiB to clear and to add up per block. When they are added, thread t begins its row at
 *          column t: side by side, the 32 threads of a warp read 32 banks.
 */
#include "histogram.h"

enum { LANES = 32 };

GM_DEVICE void count_byte(unsigned *column, unsigned byte)
{
    atomicAdd(&column[byte * LANES], 1u);
}

GM_DEVICE void count_word(unsigned *column, unsigned word)
{
    count_byte(column, word & 0xff);
    count_byte(column, word >> 8 & 0xff);
    count_byte(column, word >> 16 & 0xff);
    count_byte(column, word >> 24);
}

GM_DEVICE void count_vector(unsigned *column, const uint4 &v)
{
    count_word(column, v.x);
    count_word(column, v.y);
    count_word(column, v.z);
    count_word(column, v.w);
}

/* The vectors of this thread, of the block's tiles: two loads are in flight before the first count.
 */
template <bool ONCE> GM_DEVICE void count_vectors(unsigned *column, const uint4 *in, int64_t count)
{
    const int64_t tile = 2 * HISTOGRAM_BANKED_THREADS;
    for (int64_t begin = blockIdx.x * tile; begin < count; begin += gridDim.x * tile) {
        const int64_t i = begin + threadIdx.x, j = i + HISTOGRAM_BANKED_THREADS;
        uint4 first, second;
        if (i < count) {
            first = ONCE ? __ldcs(&in[i]) : in[i];
        }
        if (j < count) {
            second = ONCE ? __ldcs(&in[j]) : in[j];
        }
        if (i < count) {
            count_vector(column, first);
        }
        if (j < count) {
            count_vector(column, second);
        }
    }
}

/* The few bytes in front of the first whole vector and behind the last, by the first threads. */
GM_DEVICE void count_ends(unsigned *column, const histogram_args &a, int64_t front, int64_t rear)
{
    const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (thread < front) {
        count_byte(column, a.in[thread]);
    }
    if (thread < a.bytes - rear) {
        count_byte(column, a.in[rear + thread]);
    }
}

GM_KERNEL_BOUNDED(histogram_lane_banks, histogram_args, HISTOGRAM_BANKED_THREADS,
                  HISTOGRAM_BANKED_BLOCKS)
{
    __shared__ unsigned counters[HISTOGRAM_BINS * LANES];
    histogram_clear(counters, HISTOGRAM_BINS * LANES);

    const int64_t past = (int64_t)((uintptr_t)a.in % 16);
    const int64_t front = min(past ? 16 - past : (int64_t)0, a.bytes);
    const int64_t vectors = (a.bytes - front) / 16;
    unsigned *column = counters + threadIdx.x % LANES;
    if (a.once) {
        count_vectors<true>(column, (const uint4 *)(a.in + front), vectors);
    } else {
        count_vectors<false>(column, (const uint4 *)(a.in + front), vectors);
    }
    count_ends(column, a, front, front + 16 * vectors);
    __syncthreads();

    if (threadIdx.x < HISTOGRAM_BINS) {
        unsigned count = 0;
        for (int i = 0; i < LANES; i++) {
            count += counters[threadIdx.x * LANES + (threadIdx.x + i) % LANES];
        }
        histogram_give(a, threadIdx.x, count);
    }
}
