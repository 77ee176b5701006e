/*
 * reduce / warp_atomic: shuffles add up a warp's elements, then one atomic addition.
 *
 * Follows  atomic, whose 32 lanes compete for one address.
 * Idea     __shfl_down_sync reads a register of another lane. Five steps, each of which halves the
 *          number of sums, leave the warp's sum in lane 0: a 32nd of the atomics, and no memory.
 */
#include "reduce.h"

template <typename number, typename vector> GM_DEVICE void add_warps(const reduce_args &a)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    /* All lanes take part in a shuffle: those behind the end bring a zero. */
    const number sum = gm_warp_sum(i < a.count ? ((const number *)a.in)[i] : (number)0);
    if (threadIdx.x % 32 == 0) {
        atomicAdd((number *)a.out, sum);
    }
}

GM_KERNEL(reduce_warp_atomic, reduce_args)
{
    REDUCE_BY_TYPE(add_warps, a)
}
