/*
 * strided_read / unroll2: two independent loads per thread.
 *
 * Follows  cached.
 * Idea     a thread that waits for one load can wait for two at once: twice the bytes in flight per
 *          thread, half the threads.
 * Machine  two LDG before the first STG.E
 */
#include "strided_read.h"

GM_KERNEL(strided_read_unroll2, strided_read_args)
{
    ACCESS_EACH_SIZE(unit, strided_read_unrolled<2, unit>(a))
}
