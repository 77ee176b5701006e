/*
 * gather / uncached: loads that pass the L1 by.
 *
 * Follows  cached.
 * Idea     what is used once need not be kept: only the L2 holds it, in sectors of
 *          32 bytes.
 * Machine  LDG.E.STRONG.GPU (ld.global.cg)
 */
#include "gather.h"

GM_KERNEL(gather_uncached, gather_args)
{
    ACCESS_EACH_SIZE(gather_move, ACCESS_UNCACHED, 1)
}
