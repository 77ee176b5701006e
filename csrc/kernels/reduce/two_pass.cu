/*
 * reduce / two_pass: blocks store their sums, and a second launch adds those in a fixed order.
 *
 * Follows  vec4, whose atomics arrive in any order: each run rounds a sum of floats differently.
 * Idea     which elements a thread adds, and in which order, depends on nothing but the grid and
 *          the address modulo 16. Without atomics the same array gives the same bits each time.
 * Launch   on compute capability 9.0 the second launch is under way while the first runs, and waits
 *          in its kernel (programmatic dependent launch).
 * Cost     memory for a sum per block.
 */
#include "reduce.h"

template <typename number, typename vector> GM_DEVICE void store_sums(const reduce_args &a)
{
    const number sum = gm_block_sum<REDUCE_WIDE>(reduce_share<number, vector>(a));
    if (threadIdx.x == 0) {
        ((number *)a.partials)[blockIdx.x] = sum;
    }
}

GM_KERNEL_BOUNDED(reduce_two_pass, reduce_args, REDUCE_WIDE, REDUCE_BLOCKS)
{
    gm_wait_for_previous();
    gm_let_next_start();
    REDUCE_BY_TYPE(store_sums, a)
}
