/*
 * scatter_add / reduction: atomic additions that return nothing.
 *
 * Follows  returning, whose threads wait for values that nobody needs.
 * Idea     where the old value is not used the compiler makes a reduction of the addition: it is
 *          sent to the L2, which adds, and the thread goes on. Nothing comes back.
 * Machine  REDG.E.ADD
 */
#include "scatter_add.h"

template <typename number, typename integer, bool checked>
GM_DEVICE void add(const scatter_add_args &a)
{
    number *out = (number *)a.out;
    for (int64_t k = gm_grid_index(); k < a.count; k += gm_grid_stride()) {
        atomicAdd(&out[scatter_add_place<integer, checked>(a, k)], ((const number *)a.in)[k]);
    }
}

GM_KERNEL(scatter_add_reduction, scatter_add_args)
{
    SCATTER_ADD_BY_TYPE(add, a)
}
