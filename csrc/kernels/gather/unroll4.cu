/*
 * gather / unroll4: four independent loads per thread.
 *
 * Follows  unroll2.
 * Idea     four loads are in flight before the first value is stored.
 * Machine  four LDG before the first STG.E
 */
#include "gather.h"

GM_KERNEL(gather_unroll4, gather_args)
{
    ACCESS_EACH_SIZE(unit, gather_unrolled<4, unit>(a))
}
