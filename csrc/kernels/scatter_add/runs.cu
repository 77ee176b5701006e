/*
 * scatter_add / runs: one addition for neighbours with the same index.
 *
 * Follows  reduction, whose neighbours in a sorted index all queue at one address.
 * Idea     lanes that follow each other with the same index add up their elements by shuffles, and
 *          the first of them adds the sum for all. To know, a lane looks at its left neighbour's
 *          index alone: that is cheaper than warp_aggregated's match, and as good where equal
 *          indices lie together. A thread has four elements on their way.
 * Cost     a shuffle of the index and a vote where all indices differ.
 * Machine  SHFL.UP, VOTE, SHFL.DOWN, REDG.E.ADD
 */
#include "scatter_add.h"

template <typename number, typename integer, bool checked>
GM_DEVICE void add(const scatter_add_args &a)
{
    scatter_add_to<SCATTER_ADD_UNROLL, true, int64_t, integer, checked>(a, (number *)a.out);
}

GM_KERNEL(scatter_add_runs, scatter_add_args)
{
    SCATTER_ADD_BY_TYPE(add, a)
}
