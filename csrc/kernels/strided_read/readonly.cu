/*
 * strided_read / readonly: loads through the read-only path.
 *
 * Follows  cached.
 * Idea     data that no one writes while the kernel runs may take the path that
 *          textures take; __ldg promises it, as const __restrict__ would.
 * Machine  LDG.E.CONSTANT (ld.global.nc)
 */
#include "strided_read.h"

GM_KERNEL(strided_read_readonly, strided_read_args)
{
    ACCESS_EACH_SIZE(strided_read_move, ACCESS_READONLY, 1)
}
