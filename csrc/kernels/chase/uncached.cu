/*
 * chase / uncached: loads that bypass the L1.
 *
 * Follows  cached.
 * Idea     however short the chain, each load goes to the L2: the difference is what the L1 saves.
 * Machine  LDG.E.STRONG.GPU (ld.global.cg)
 */
#include "chase.h"

GM_KERNEL(chase_uncached, chase_args)
{
    uint32_t at = a.start;
    if (threadIdx.x > 0) {
        return;
    }
#pragma unroll 8
    for (int i = 0; i < a.steps; i++) {
        at = __ldcg(&a.next[at]);
    }
    *a.out = at;
}
