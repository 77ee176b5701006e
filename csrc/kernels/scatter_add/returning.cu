/*
 * scatter_add / returning: atomic additions that return the old value.
 *
 * Idea     each thread adds one element, and asks what was there before. The answer has to come
 *          back from the L2, and the thread keeps a register and its place in the warp until then.
 * Cost     nobody needs the old values here. They go to a place that does not exist, so that the
 *          compiler cannot leave them out and make a reduction of the addition.
 * Machine  ATOMG.E.ADD
 */
#include "scatter_add.h"

template <typename number, typename integer, bool checked>
GM_DEVICE void add(const scatter_add_args &a)
{
    number *out = (number *)a.out, seen = 0;
    for (int64_t k = gm_grid_index(); k < a.count; k += gm_grid_stride()) {
        seen +=
            atomicAdd(&out[scatter_add_place<integer, checked>(a, k)], ((const number *)a.in)[k]);
    }
    if (a.nowhere) {
        *(number *)a.nowhere = seen;
    }
}

GM_KERNEL(scatter_add_returning, scatter_add_args)
{
    SCATTER_ADD_BY_TYPE(add, a)
}
