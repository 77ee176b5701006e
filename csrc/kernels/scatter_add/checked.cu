/*
 * scatter_add / checked: a short index is checked, and followed, by one kernel.
 *
 * Follows  reduction behind gather's index_range: two launches, between which the host waits.
 * Idea     as gather's checked: each block checks the whole index, and adds its elements if all of
 *          it is in range. The first block tells the host, which waits for that word alone.
 */
#include "gather/index.h"
#include "scatter_add.h"

template <typename number, typename integer, bool checked>
GM_DEVICE void add(const scatter_add_args &a)
{
    number *out = (number *)a.out;
    for (int64_t k = gm_grid_index(); k < a.count; k += gm_grid_stride()) {
        atomicAdd(&out[scatter_add_place<integer, checked>(a, k)], ((const number *)a.in)[k]);
    }
}

GM_KERNEL(scatter_add_checked, scatter_add_args)
{
    /* Without a verdict the index is long, and was checked before. */
    if (a.verdict && !gather_is_right((const char *)a.index, a.index_size, a.index_size, a.count,
                                      a.length, a.verdict)) {
        return;
    }
    SCATTER_ADD_BY_TYPE(add, a)
}
