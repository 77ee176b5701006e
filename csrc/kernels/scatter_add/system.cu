/*
 * scatter_add / system: additions that are atomic for the whole system.
 *
 * Follows  reduction, whose additions are atomic among the threads of one device.
 * Idea     the host and other devices may add to the same memory at the same time. For memory of
 *          the device itself the L2 is where all of them meet anyway.
 * Machine  REDG.E.ADD.STRONG.SYS
 */
#include "scatter_add.h"

template <typename number, typename integer, bool checked>
GM_DEVICE void add(const scatter_add_args &a)
{
    number *out = (number *)a.out;
    for (int64_t k = gm_grid_index(); k < a.count; k += gm_grid_stride()) {
        atomicAdd_system(&out[scatter_add_place<integer, checked>(a, k)],
                         ((const number *)a.in)[k]);
    }
}

GM_KERNEL(scatter_add_system, scatter_add_args)
{
    SCATTER_ADD_BY_TYPE(add, a)
}
