/*
 * chase / readonly: loads through the read-only path.
 *
 * Follows  cached.
 * Idea     the path of textures ends in the same L1. Does it take longer to get there?
 * Machine  LDG.E.CONSTANT (ld.global.nc)
 */
#include "chase.h"

GM_KERNEL(chase_readonly, chase_args)
{
    uint32_t at = a.start;
    if (threadIdx.x > 0) {
        return;
    }
#pragma unroll 8
    for (int i = 0; i < a.steps; i++) {
        at = __ldg(&a.next[at]);
    }
    *a.out = at;
}
