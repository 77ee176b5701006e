/*
 * copy / convert: numbers of one dtype become numbers of another; any layout in, any layout out.
 *
 * Follows  scatter, which finds the places of units, here numbers, in the same way.
 * Idea     three steps, each with a branch that all threads take: numbers are loaded by their size,
 *          converted by the pair of dtypes, and stored by their size.
 */
#include "convert_views.h"

enum { THREADS = 256, BLOCKS = 5 };

/* The grid has a thread for each four numbers. */
GM_KERNEL_BOUNDED(copy_convert, copy_convert_args, THREADS, BLOCKS)
{
    convert(a, copy_first(), copy_find_places<uint32_t, int32_t>(a.sides, copy_first()));
}
