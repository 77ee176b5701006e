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
    number *out = (number *)a.out;
    const int64_t step = (int64_t)gridDim.x * blockDim.x * SCATTER_ADD_UNROLL;
    const int64_t begin = (int64_t)blockIdx.x * blockDim.x * SCATTER_ADD_UNROLL + threadIdx.x;

    /* All lanes take part as long as there is an element for the first. */
    for (int64_t first = begin; first - threadIdx.x % 32 < a.count; first += step) {
        integer index[SCATTER_ADD_UNROLL];
        number element[SCATTER_ADD_UNROLL];
        scatter_add_load(a, first, index, element);
#pragma unroll
        for (int i = 0; i < SCATTER_ADD_UNROLL; i++) {
            const bool there = first + i * (int64_t)blockDim.x < a.count;
            const int64_t place =
                there ? gather_follow<checked>(index[i], a.length, a.mode) : (int64_t)-1;
            if (scatter_add_first_of_run(place, &element[i])) {
                atomicAdd(&out[place], element[i]);
            }
        }
    }
}

GM_KERNEL(scatter_add_runs, scatter_add_args)
{
    SCATTER_ADD_BY_TYPE(add, a)
}
