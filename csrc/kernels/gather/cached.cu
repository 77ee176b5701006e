/*
 * gather / cached: loads that may stay in the L1.
 *
 * Idea     an L1 line has 128 bytes; what a stride leaves of it can serve the next
 *          request, if it is still there. The L1 fetches the sectors that are asked for.
 * Machine  LDG.E.STRONG.SM (ld.global.ca)
 */
#include "gather.h"

GM_KERNEL(gather_cached, gather_args)
{
    ACCESS_EACH_SIZE(gather_move, ACCESS_CACHED, 1)
}
