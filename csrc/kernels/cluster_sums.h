/*
 * A number of each block of a cluster, sent to the shared memory of one block or of all.
 *
 * A grid is one cluster of BLOCKS blocks. A number is stored where it is wanted, and the mbarrier
 * beside it knows how many bytes will arrive: nobody needs a fence, nor a counter in global memory.
 * Without clusters a grid has one block, which calls none of this.
 */
#ifndef GPUMEM_CLUSTER_SUMS_H
#define GPUMEM_CLUSTER_SUMS_H

#include "bulk.h"
#include "cluster.h"

/* In shared memory. A kernel of several steps has two sets of numbers that take turns, so that
 * those of the next step may arrive while some threads still read these. */
template <typename number, int BLOCKS, int SETS> struct gm_cluster_sums {
    number of_block[SETS][BLOCKS];
    gm_mbarrier arrived[SETS];
};

#if GM_HAS_CLUSTERS
/* For a kernel that begins: whoever sends has to call gm_cluster_wait before. All threads of all
 * blocks call both, and none returns in between. */
template <typename number, int BLOCKS, int SETS>
GM_DEVICE void gm_cluster_sums_open(gm_cluster_sums<number, BLOCKS, SETS> &sums)
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
template <typename number, int BLOCKS, int SETS>
GM_DEVICE void gm_cluster_sums_expect(gm_cluster_sums<number, BLOCKS, SETS> &sums, int step)
{
    gm_mbarrier_expect(&sums.arrived[step % SETS], BLOCKS * (uint32_t)sizeof(number));
}

GM_DEVICE void gm_cluster_store(uint32_t address, uint32_t bits, uint32_t barrier)
{
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
            address),
        "r"(bits), "r"(barrier)
        : "memory");
}

GM_DEVICE void gm_cluster_store(uint32_t address, uint64_t bits, uint32_t barrier)
{
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(
            address),
        "l"(bits), "r"(barrier)
        : "memory");
}

/* Sends this block's number to another one, or to itself. */
template <typename number, int BLOCKS, int SETS>
GM_DEVICE void gm_cluster_sums_send(gm_cluster_sums<number, BLOCKS, SETS> &sums, int step,
                                    number value, unsigned to)
{
    const uint32_t place = gm_cluster_address(&sums.of_block[step % SETS][blockIdx.x], to);
    const uint32_t barrier = gm_cluster_address(&sums.arrived[step % SETS], to);
    if constexpr (sizeof value == 4) {
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        gm_cluster_store(place, bits, barrier);
    } else {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        gm_cluster_store(place, bits, barrier);
    }
}

/* Until the numbers of all blocks are here. */
template <typename number, int BLOCKS, int SETS>
GM_DEVICE void gm_cluster_sums_wait(gm_cluster_sums<number, BLOCKS, SETS> &sums, int step)
{
    gm_mbarrier_wait(&sums.arrived[step % SETS], (uint32_t)(step / SETS & 1));
}
#endif

#endif
