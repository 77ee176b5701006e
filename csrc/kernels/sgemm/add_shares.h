/*
 * Adds what blocks that shared the depth of a product have left: one sum per share and number,
 * always in the same order, so that the same product is the same bits each time.
 *
 * Where there are many shares, `sharers` threads of a block have some of them each:
 *
 *     thread            0 1 2 ... each - 1 | each ...       | 2 each ...
 *     units             0 1 2 ... each - 1 | the same       | the same
 *     shares            0, sharers, ...    | 1, ...         | 2, ...
 *     shared memory     sums of threads, added by the first `each` of them
 */
#ifndef GPUMEM_SGEMM_ADD_SHARES_H
#define GPUMEM_SGEMM_ADD_SHARES_H

#include <stdint.h>

enum {
    ADD_SHARES_THREADS = 256,
    ADD_SHARES_RESIDENT = 8, /* blocks on a multiprocessor, as many as there are threads for */
    ADD_SHARES_LOADS = 4,    /* of a thread, in flight */
};

/* How many threads have shares of the same number, as a power of two. */
static inline int add_shares_log_sharers(int64_t shares)
{
    return shares >= 32 ? 3 : shares >= 8 ? 2 : 0;
}

#ifdef __cplusplus
#include "device.h"

GM_DEVICE float add_shares_sum(float a, float b)
{
    return a + b;
}

GM_DEVICE float4 add_shares_sum(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/* `count` of the numbers of a unit; zeros for the others. */
template <bool whole> GM_DEVICE float add_shares_load(const float *from, int count, float)
{
    (void)count;
    return *from;
}

template <bool whole> GM_DEVICE float4 add_shares_load(const float *from, int count, float4)
{
    if (whole) {
        return *(const float4 *)from;
    }
    return make_float4(from[0], count > 1 ? from[1] : 0.0f, count > 2 ? from[2] : 0.0f, 0.0f);
}

/* One thread's shares of a unit, `step` apart, four loads at a time side by side. That the unit is
 * whole is asked before: a branch at each load would keep it from that. */
template <bool whole, typename unit>
GM_DEVICE unit add_shares_some(const float *at, int64_t step, int left, int count)
{
    unit sum = add_shares_load<whole>(at, count, unit());
#pragma unroll 1
    for (left--; left > 0; left -= ADD_SHARES_LOADS) {
        unit more[ADD_SHARES_LOADS];
#pragma unroll
        for (int k = 0; k < ADD_SHARES_LOADS; k++) {
            if (k < left) {
                at += step;
                more[k] = add_shares_load<whole>(at, count, unit());
            }
        }
#pragma unroll
        for (int k = 0; k < ADD_SHARES_LOADS; k++) {
            if (k < left) {
                sum = add_shares_sum(sum, more[k]);
            }
        }
    }
    return sum;
}

/* What a thread has to do. */
struct add_shares_part {
    int64_t unit;
    int each;          /* units of the block */
    int sharer, count; /* its first share, and how many they are */
};

GM_DEVICE add_shares_part add_shares_find_part(int shares, int log_sharers)
{
    add_shares_part part;
    part.each = ADD_SHARES_THREADS >> log_sharers;
    part.unit = (int64_t)blockIdx.x * part.each + (threadIdx.x & (part.each - 1));
    part.sharer = (int)threadIdx.x / part.each;
    part.count = (shares - part.sharer + (1 << log_sharers) - 1) >> log_sharers;
    return part;
}

/* All shares of a thread's unit; `from` is the first one, of which `count` numbers exist, 0 where
 * there is no such unit. The result is that of the first sharer. */
template <typename unit>
GM_DEVICE unit add_shares_all(const float *from, int64_t partial, const add_shares_part &part,
                              int log_sharers, int count, unit *shared)
{
    enum { NUMBERS = sizeof(unit) / sizeof(float) };
    unit sum = {};
    from += part.sharer * partial;
    if (count >= NUMBERS) {
        sum = add_shares_some<true, unit>(from, partial << log_sharers, part.count, count);
    } else if (count > 0) {
        sum = add_shares_some<false, unit>(from, partial << log_sharers, part.count, count);
    }
    if (log_sharers > 0) {
        shared[threadIdx.x] = sum;
        __syncthreads();
        for (int other = 1; other < 1 << log_sharers && part.sharer == 0; other++) {
            sum = add_shares_sum(sum, shared[other * part.each + threadIdx.x]);
        }
    }
    return sum;
}
#endif

#endif
