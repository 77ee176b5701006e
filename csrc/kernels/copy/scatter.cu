/*
 * copy / scatter: strided, for a result that has gaps.
 *
 * Idea     a thread divides the number of a unit by the extents, the innermost axis first, to find
 *          its place on both sides. Axes are sorted by the strides of the result: neighbours in a
 *          warp store side by side; loads are as good as the layout. A unit is as wide as the
 *          layouts allow, up to 16 bytes. A division by a number that is known before the launch is
 *          a multiplication and a shift. Four loads of a thread are in flight at a time.
 */
#include "scatter.h"

enum { THREADS = 256, BLOCKS = 5 };

/* The grid has a thread for each four units. */
GM_KERNEL_BOUNDED(copy_scatter, copy_scatter_args, THREADS, BLOCKS)
{
    scatter(a, copy_first(), copy_find_places<uint32_t, int32_t>(a, copy_first()));
}
