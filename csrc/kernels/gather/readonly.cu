/*
 * gather / readonly: loads through the read-only path.
 *
 * Follows  cached.
 * Idea     data that no one writes while the kernel runs may take the path that
 *          textures take; __ldg promises it, as const __restrict__ would.
 * Machine  LDG.E.CONSTANT (ld.global.nc)
 */
#include "gather.h"

GM_KERNEL(gather_readonly, gather_args)
{
    ACCESS_EACH_SIZE(gather_move, ACCESS_READONLY, 1)
}
