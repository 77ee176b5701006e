/*
 * chase / constant: the chain in constant memory.
 *
 * Follows  cached.
 * Idea     constant memory has caches of its own, small ones, and behind them the L2. An index that
 *          only the running kernel knows takes a load of its own, not an operand of another
 *          instruction.
 * Cost     64 KiB is all there is.
 * Machine  LDC
 */
#include "chase.h"

GM_CONSTANT(uint32_t, chase_table, CHASE_CONSTANT_BYTES / sizeof(uint32_t))

GM_KERNEL(chase_constant, chase_args)
{
    uint32_t at = a.start;
    if (threadIdx.x > 0) {
        return;
    }
#pragma unroll 8
    for (int i = 0; i < a.steps; i++) {
        at = chase_table[at];
    }
    *a.out = at;
}
