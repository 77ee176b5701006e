/*
 * strided_write / unroll8: eight independent loads per thread.
 *
 * Follows  unroll4.
 * Idea     eight loads in flight; more registers per thread, and fewer threads to share the work.
 * Machine  eight LDG before the first STG.E
 */
#include "strided_write.h"

GM_KERNEL(strided_write_unroll8, strided_write_args)
{
    ACCESS_EACH_SIZE(unit, strided_write_unrolled<8, unit>(a))
}
