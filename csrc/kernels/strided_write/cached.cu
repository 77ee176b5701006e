/*
 * strided_write / cached: loads that may stay in the L1.
 *
 * Idea     an L1 line has 128 bytes; what a stride leaves of it can serve the next
 *          request, if it is still there. The L1 fetches the sectors that are asked for.
 * Machine  LDG.E.STRONG.SM (ld.global.ca)
 */
#include "strided_write.h"

GM_KERNEL(strided_write_cached, strided_write_args)
{
    ACCESS_EACH_SIZE(strided_write_move, ACCESS_CACHED, 1)
}
