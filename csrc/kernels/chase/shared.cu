/*
 * chase / shared: the chain in shared memory.
 *
 * Follows  cached.
 * Idea     shared memory is in the same chip memory as the L1, and no tag has to be compared. The
 *          threads of the block bring the chain there together, then one of them follows it.
 * Cost     the chain has to fit in what a block can have.
 * Machine  LDS
 */
#include "chase.h"

GM_KERNEL(chase_shared, chase_args)
{
    GM_DYNAMIC_SHARED(uint32_t, chain);
    for (int64_t i = threadIdx.x; i < a.length; i += blockDim.x) {
        chain[i] = a.next[i];
    }
    __syncthreads();
    if (threadIdx.x > 0) {
        return;
    }
    uint32_t at = a.start;
#pragma unroll 8
    for (int i = 0; i < a.steps; i++) {
        at = chain[at];
    }
    *a.out = at;
}
