/*
 * reduce / last_block: whichever block ends last adds up the sums of all.
 *
 * Follows  two_pass, whose second launch reads all sums when the first has ended.
 * Idea     a block stores its sum, makes it visible with __threadfence() and takes a number. The
 *          one that gets the highest number knows that all others have stored theirs. It adds them
 *          in the order of the blocks, not of their arrival: the same bits each time.
 * Cost     a counter, which a kernel just before sets to zero: as many launches as two_pass, and
 *          three trips to global memory after the last load where that has two. A grid of one block
 *          needs neither.
 */
#include "reduce.h"

/* Does this block end last? All threads get the answer. */
GM_DEVICE bool is_last(unsigned *blocks_done)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence(); /* the block's sum is visible before its number is taken */
        last = atomicAdd(blocks_done, 1u) == gridDim.x - 1;
        __threadfence(); /* and the sums of the others are read after that */
    }
    __syncthreads();
    return last;
}

template <typename number, typename vector> GM_DEVICE void add_all(const reduce_args &a)
{
    number *partials = (number *)a.partials;
    number sum = gm_block_sum<REDUCE_WIDE>(reduce_share<number, vector>(a));
    if (gridDim.x > 1) {
        if (threadIdx.x == 0) {
            partials[blockIdx.x] = sum;
        }
        if (!is_last(a.blocks_done)) {
            return;
        }
        sum = reduce_partials<REDUCE_WIDE>(partials, (int)gridDim.x);
    }
    if (threadIdx.x == 0) {
        *(number *)a.out = sum;
    }
}

GM_KERNEL_BOUNDED(reduce_last_block, reduce_args, REDUCE_WIDE, REDUCE_BLOCKS)
{
    gm_wait_for_previous();
    REDUCE_BY_TYPE(add_all, a)
}
