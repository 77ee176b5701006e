/*
 * copy / convert_far: convert, of arrays that are 2 GiB or more apart.
 *
 * Follows  convert, whose distances have 32 bits.
 */
#include "convert_views.h"

/* The grid has a thread for each four numbers. */
GM_KERNEL(copy_convert_far, copy_convert_args)
{
    convert(a, copy_first(), copy_find_far_places(a.sides, copy_first()));
}
