/*
 * reduce / grid_stride: as many blocks as run at once, whose threads add many elements each.
 *
 * Follows  block_atomic, which spends ten shuffles and a barrier on every 256 elements.
 * Idea     a thread adds up elements in a register while it walks through the array in steps of
 *          the grid. Shuffles, barrier and atomic come once per block, however long the array is.
 */
#include "reduce.h"

template <typename number, typename vector> GM_DEVICE void add_steps(const reduce_args &a)
{
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    number sum = 0;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += stride) {
        sum += ((const number *)a.in)[i];
    }
    sum = gm_block_sum<REDUCE_THREADS>(sum);
    if (threadIdx.x == 0) {
        atomicAdd((number *)a.out, sum);
    }
}

GM_KERNEL_BOUNDED(reduce_grid_stride, reduce_args, REDUCE_THREADS, 8)
{
    REDUCE_BY_TYPE(add_steps, a)
}
