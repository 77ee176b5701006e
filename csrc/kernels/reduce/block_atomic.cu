/*
 * reduce / block_atomic: the sums of a block's warps meet in shared memory, then one atomic.
 *
 * Follows  warp_atomic, which still has an atomic for every 32 elements.
 * Idea     lane 0 of each warp stores its sum to shared memory, and after a barrier the first warp
 *          adds up the eight of them: an atomic for every 256 elements.
 */
#include "reduce.h"

template <typename number, typename vector> GM_DEVICE void add_blocks(const reduce_args &a)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const number sum =
        gm_block_sum<REDUCE_THREADS>(i < a.count ? ((const number *)a.in)[i] : (number)0);
    if (threadIdx.x == 0) {
        atomicAdd((number *)a.out, sum);
    }
}

GM_KERNEL(reduce_block_atomic, reduce_args)
{
    REDUCE_BY_TYPE(add_blocks, a)
}
