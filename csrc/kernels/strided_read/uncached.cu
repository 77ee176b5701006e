/*
 * strided_read / uncached: loads that pass the L1 by.
 *
 * Follows  cached.
 * Idea     what is used once need not be kept: only the L2 holds it, in sectors of
 *          32 bytes.
 * Machine  LDG.E.STRONG.GPU (ld.global.cg)
 */
#include "strided_read.h"

GM_KERNEL(strided_read_uncached, strided_read_args)
{
    ACCESS_EACH_SIZE(strided_read_move, ACCESS_UNCACHED, 1)
}
