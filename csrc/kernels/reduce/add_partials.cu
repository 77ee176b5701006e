/*
 * reduce / add_partials, a helper: one block adds up the sums of two_pass, always in one order.
 */
#include "reduce.h"

template <typename number, typename vector> GM_DEVICE void add_sums(const reduce_args &a)
{
    const number sum = reduce_partials<REDUCE_THREADS>((const number *)a.partials, (int)a.count);
    if (threadIdx.x == 0) {
        *(number *)a.out = sum;
    }
}

GM_KERNEL(reduce_add_partials, reduce_args)
{
    gm_wait_for_previous();
    REDUCE_BY_TYPE(add_sums, a)
}
