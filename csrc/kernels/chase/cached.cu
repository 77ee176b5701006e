/*
 * chase / cached: loads that may stay in the L1.
 *
 * Idea     one thread waits for each load before it can ask for the next: nothing hides the
 *          latency. A chain that fits in the L1 shows that of the L1, a longer one that of the L2,
 *          and one that does not fit there that of the memory. Each step also works out an
 *          address: one multiply-add.
 * Machine  LDG.E.STRONG.SM (ld.global.ca)
 */
#include "chase.h"

GM_KERNEL(chase_cached, chase_args)
{
    uint32_t at = a.start;
    if (threadIdx.x > 0) {
        return;
    }
#pragma unroll 8
    for (int i = 0; i < a.steps; i++) {
        at = __ldca(&a.next[at]);
    }
    *a.out = at;
}
