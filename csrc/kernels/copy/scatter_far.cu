/*
 * copy / scatter_far: scatter, of arrays that are 2 GiB or more apart, and for a grid of any size.
 *
 * Follows  scatter, whose distances have 32 bits, and which has no loop: that takes half the
 *          registers.
 */
#include "scatter.h"

GM_KERNEL(copy_scatter_far, copy_scatter_args)
{
    for (int64_t first = copy_first(); first < a.units; first += copy_stride()) {
        scatter(a, first, copy_find_far_places(a, first));
    }
}
