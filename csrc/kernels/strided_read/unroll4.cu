/*
 * strided_read / unroll4: four independent loads per thread.
 *
 * Follows  unroll2.
 * Idea     four loads are in flight before the first value is stored.
 * Machine  four LDG before the first STG.E
 */
#include "strided_read.h"

GM_KERNEL(strided_read_unroll4, strided_read_args)
{
    ACCESS_EACH_SIZE(unit, strided_read_unrolled<4, unit>(a))
}
