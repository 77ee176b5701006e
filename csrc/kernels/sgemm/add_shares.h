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

enum { ADD_SHARES_THREADS = 256 };

/* How many threads have shares of the same number: loads of a thread are side by side, by eights.
 */
static inline int add_shares_sharers(int64_t shares)
{
    return shares >= 32 ? 8 : shares >= 8 ? 4 : 1;
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

/* The first of the numbers, or `count` of a vector's; zeros for the others. */
GM_DEVICE void add_shares_load(float *held, const float *from, int count)
{
    *held = *from;
    (void)count;
}

GM_DEVICE void add_shares_load(float4 *held, const float *from, int count)
{
    if (count >= 4) {
        *held = *(const float4 *)from;
    } else {
        held->x = from[0];
        held->y = count > 1 ? from[1] : 0.0f;
        held->z = count > 2 ? from[2] : 0.0f;
        held->w = 0.0f;
    }
}

/* The unit that a block's thread adds shares of. */
GM_DEVICE int64_t add_shares_unit(int sharers)
{
    const int each = blockDim.x / sharers;
    return (int64_t)blockIdx.x * each + threadIdx.x % each;
}

/* All shares of a unit; `from` is the first one, of which `count` numbers exist, 0 where there is
 * no such unit. The result is that of threads before `blockDim.x / sharers`. */
template <typename unit>
GM_DEVICE unit add_shares_all(const float *from, int64_t partial, int shares, int sharers,
                              int count, unit *shared)
{
    const int each = blockDim.x / sharers, sharer = threadIdx.x / each;
    unit sum = {}, more;
    if (count > 0) {
        add_shares_load(&sum, from + sharer * partial, count);
#pragma unroll 8 /* loads that wait side by side */
        for (int share = sharer + sharers; share < shares; share += sharers) {
            add_shares_load(&more, from + share * partial, count);
            sum = add_shares_sum(sum, more);
        }
    }
    if (sharers > 1) {
        shared[threadIdx.x] = sum;
        __syncthreads();
        for (int other = 1; other < sharers && sharer == 0; other++) {
            sum = add_shares_sum(sum, shared[other * each + threadIdx.x]);
        }
    }
    return sum;
}
#endif

#endif
