/*
 * strided_write / unroll2: two independent loads per thread.
 *
 * Follows  cached.
 * Idea     a thread that waits for one load can wait for two at once: twice the bytes in flight per
 *          thread, half the threads.
 * Machine  two LDG before the first STG.E
 */
#include "strided_write.h"

GM_KERNEL(strided_write_unroll2, strided_write_args)
{
    ACCESS_EACH_SIZE(unit, strided_write_unrolled<2, unit>(a))
}
