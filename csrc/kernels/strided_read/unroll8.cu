/*
 * strided_read / unroll8: eight independent loads per thread.
 *
 * Follows  unroll4.
 * Idea     eight loads in flight; more registers per thread, and fewer threads to share the work.
 * Machine  eight LDG before the first STG.E
 */
#include "strided_read.h"

GM_KERNEL(strided_read_unroll8, strided_read_args)
{
    ACCESS_EACH_SIZE(unit, strided_read_unrolled<8, unit>(a))
}
