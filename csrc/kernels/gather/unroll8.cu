/*
 * gather / unroll8: eight independent loads per thread.
 *
 * Follows  unroll4.
 * Idea     eight loads in flight; more registers per thread, and fewer threads to share the work.
 * Machine  eight LDG before the first STG.E
 */
#include "gather.h"

GM_KERNEL(gather_unroll8, gather_args)
{
    ACCESS_EACH_SIZE(unit, gather_unrolled<8, unit>(a))
}
