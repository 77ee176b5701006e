/*
 * strided_read / cached: loads that may stay in the L1.
 *
 * Idea     an L1 line has 128 bytes; what a stride leaves of it can serve the next
 *          request, if it is still there. The L1 fetches the sectors that are asked for.
 * Machine  LDG.E.STRONG.SM (ld.global.ca)
 */
#include "strided_read.h"

GM_KERNEL(strided_read_cached, strided_read_args)
{
    ACCESS_EACH_SIZE(strided_read_move, ACCESS_CACHED, 1)
}
