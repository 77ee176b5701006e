/*
 * strided_write / uncached: loads that pass the L1 by.
 *
 * Follows  cached.
 * Idea     what is used once need not be kept: only the L2 holds it, in sectors of
 *          32 bytes.
 * Machine  LDG.E.STRONG.GPU (ld.global.cg)
 */
#include "strided_write.h"

GM_KERNEL(strided_write_uncached, strided_write_args)
{
    ACCESS_EACH_SIZE(strided_write_move, ACCESS_UNCACHED, 1)
}
