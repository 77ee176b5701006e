/*
 * A number of each block of a cluster, sent to the shared memory of one block or of all.
 *
 * A grid is one cluster of up to CLUSTER_MOST blocks. A number is stored where it is wanted, and
 * the mbarrier beside it knows how many bytes will arrive: nobody needs a fence, nor a counter in
 * global memory. Without clusters a grid has one block, which calls none of this.
 */
#ifndef GPUMEM_CLUSTER_SUMS_H
#define GPUMEM_CLUSTER_SUMS_H

enum { CLUSTER_MOST = 16 }; /* blocks, where the device has so large clusters */

#ifdef __cplusplus
#include "bulk.h"
#include "cluster.h"

/* In shared memory. A kernel of several steps has two sets of numbers that take turns, so that
 * those of the next step may arrive while some threads still read these. */
template <typename number, int SETS> struct gm_cluster_sums {
    number of_block[SETS][CLUSTER_MOST];
    gm_mbarrier arrived[SETS];
};

#if GM_HAS_CLUSTERS
/* For a kernel that begins: whoever sends has to call gm_cluster_wait before. All threads of all
 * blocks call both, and none returns in between. */
template <typename number, int SETS>
GM_DEVICE void gm_cluster_sums_open(gm_cluster_sums<number, SETS> &sums)
{
    if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 0; i < SETS; i++) {
            gm_mbarrier_init(&sums.arrived[i]);
        }
        gm_cluster_mbarrier_fence();
    }
    __syncwarp();
    gm_cluster_arrive();
}

/* One thread of a block that receives, once per step, after it has waited for the last step but
 * one. */
template <typename number, int SETS>
GM_DEVICE void gm_cluster_sums_expect(gm_cluster_sums<number, SETS> &sums, int step)
{
    gm_mbarrier_expect(&sums.arrived[step % SETS], gridDim.x * (uint32_t)sizeof(number));
}

/* Sends this block's number to another one, or to itself. */
template <typename number, int SETS>
GM_DEVICE void gm_cluster_sums_send(gm_cluster_sums<number, SETS> &sums, int step, number value,
                                    unsigned to)
{
    const uint32_t place = gm_cluster_address(&sums.of_block[step % SETS][blockIdx.x], to);
    const uint32_t barrier = gm_cluster_address(&sums.arrived[step % SETS], to);
    gm_cluster_send(place, value, barrier);
}

/* Until the numbers of all blocks are here. */
template <typename number, int SETS>
GM_DEVICE void gm_cluster_sums_wait(gm_cluster_sums<number, SETS> &sums, int step)
{
    gm_mbarrier_wait(&sums.arrived[step % SETS], (uint32_t)(step / SETS & 1));
}
#endif

#else
#include "backend/backend.h"

/* Bytes of an array up to which one block is as fast alone as a cluster, on an H100. */
enum { CLUSTER_ALONE_BYTES = 32 << 10 };

/* How many blocks an array gets: CLUSTER_MOST; or else what CUDA promises on every device that has
 * clusters; or one. */
static inline int cluster_blocks(const gm_variant *variant, const gm_call *call)
{
    enum { PROMISED = 8 };
    int most = 0;
    if (call->in[0].bytes > CLUSTER_ALONE_BYTES) {
        const bool before = gm_hush(true); /* what keeps it from an answer fails the launch, too */
        if (call->backend->cluster_blocks(variant, &most) != GM_OK) {
            most = 0;
        }
        gm_hush(before);
    }
    return most >= CLUSTER_MOST ? CLUSTER_MOST : most >= PROMISED ? PROMISED : 1;
}

/* Plans one block or a cluster, with a warp for each share of the input if the blocks of the row
 * have so many. */
static inline void cluster_plan(const gm_variant *variant, const gm_call *call, int64_t share_bytes,
                                gm_plan *plan)
{
    const int64_t bytes = call->in[0].bytes;
    const int blocks = cluster_blocks(variant, call);
    const int64_t of_warps = blocks * share_bytes;
    const int64_t warps = bytes / of_warps + (bytes % of_warps != 0 || bytes == 0);
    const int64_t most = variant->block.x / GM_WARP;
    plan->grid.x = (unsigned)blocks;
    plan->block.x = GM_WARP * (unsigned)(warps < most ? warps : most);
    plan->cluster.x = blocks > 1 ? plan->grid.x : 0;
    plan->cluster.y = plan->cluster.z = 1;
}
#endif

#endif
