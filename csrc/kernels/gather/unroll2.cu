/*
 * gather / unroll2: two independent loads per thread.
 *
 * Follows  cached.
 * Idea     a thread that waits for one load can wait for two at once: twice the bytes in flight per
 *          thread, half the threads.
 * Machine  two LDG before the first STG.E
 */
#include "gather.h"

GM_KERNEL(gather_unroll2, gather_args)
{
    ACCESS_EACH_SIZE(unit, gather_unrolled<2, unit>(a))
}
