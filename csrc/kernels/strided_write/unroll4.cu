/*
 * strided_write / unroll4: four independent loads per thread.
 *
 * Follows  unroll2.
 * Idea     four loads are in flight before the first value is stored.
 * Machine  four LDG before the first STG.E
 */
#include "strided_write.h"

GM_KERNEL(strided_write_unroll4, strided_write_args)
{
    ACCESS_EACH_SIZE(unit, strided_write_unrolled<4, unit>(a))
}
