/*
 * strided_write / readonly: loads through the read-only path.
 *
 * Follows  cached.
 * Idea     data that no one writes while the kernel runs may take the path that
 *          textures take; __ldg promises it, as const __restrict__ would.
 * Machine  LDG.E.CONSTANT (ld.global.nc)
 */
#include "strided_write.h"

GM_KERNEL(strided_write_readonly, strided_write_args)
{
    ACCESS_EACH_SIZE(strided_write_move, ACCESS_READONLY, 1)
}
