/*
 * chase / remote_shared: the chain in the shared memory of another multiprocessor.
 *
 * Follows  shared.
 * Idea     the blocks of a cluster run on different multiprocessors. One holds the chain, and a
 *          thread of the other follows it through the network between them: further away than
 *          shared memory of its own. The owner must not end while the other reads.
 * Machine  LD.E (ld.shared::cluster), UCGABAR_WAIT
 */
#include "chase.h"

#include "cluster.h"

GM_KERNEL_CLUSTERED(chase_remote_shared, chase_args, CHASE_CLUSTER)
{
#ifdef GM_HAS_CLUSTERS
    GM_DYNAMIC_SHARED(uint32_t, chain);
    if (blockIdx.x == 0) {
        for (int64_t i = threadIdx.x; i < a.length; i += blockDim.x) {
            chain[i] = a.next[i];
        }
    }
    gm_cluster_barrier();
    if (blockIdx.x == 1 && threadIdx.x == 0) {
        const uint32_t remote = gm_cluster_address(chain, 0);
        uint32_t at = a.start;
#pragma unroll 8
        for (int i = 0; i < a.steps; i++) {
            at = gm_cluster_load(remote + at * (uint32_t)sizeof(uint32_t));
        }
        *a.out = at;
    }
    gm_cluster_barrier();
#else
    (void)a;
#endif
}
