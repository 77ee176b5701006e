/*
 * scan / cluster: one cluster of blocks, which send each other the sums of their tiles.
 *
 * Follows  pipelined, which needs a launch that clears states, and asks for them in global memory.
 *          For a small array these trips take longer than the elements.
 * Idea     the blocks of a cluster start together and reach each other's shared memory. Each scans
 *          a tile in registers, sends its sum to all of them, and has its base when their sums are
 *          there: one launch, no memory, each element read once and written once. The order of the
 *          additions is fixed: the same bits each time.
 * Tiles    a warp has 2 KiB of a tile, and a block as many warps as it takes for the cluster to
 *          hold the array. If 32 in each block are too few, the cluster takes one row of tiles
 *          after the other:
 *
 *              block       0        1        2      ...   15
 *              step 0      tile 0   tile 1   tile 2       tile 15
 *              step 1      tile 16  tile 17  ...
 *
 * Blocks   16, where the device has so large clusters for this kernel, or 8.
 * Cost     16 multiprocessors load and store what all of them could: a larger array takes longer.
 *          An array that one block scans as fast needs no cluster, and has none.
 * Machine  LDG.E.128, STAS (st.async.shared::cluster), STG.E.128
 */
#include "scan.h"

#include "cluster_sums.h"

/* From the sum of each warp the sum of the warps below and that of the block. The buffers take
 * turns: a warp may be a step ahead of another that still reads. */
template <typename number>
GM_DEVICE number sum_warps_below(int step, number of_this, number *of_block)
{
    __shared__ number of_warp[2][SCAN_MOST_WARPS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    if (lane == 0) {
        of_warp[step % 2][warp] = of_this;
    }
    __syncthreads();
    const number inclusive = scan_warp(lane < warps ? of_warp[step % 2][lane] : (number)0);
    const number below = __shfl_sync(0xffffffffu, inclusive, max(warp - 1, 0));
    *of_block = __shfl_sync(0xffffffffu, inclusive, 31);
    return warp > 0 ? below : (number)0;
}

#if GM_HAS_CLUSTERS
/* From the sum of this block in a step that of the blocks below and that of all. A block ends when
 * it has the numbers of all others: nobody sends it any more. */
template <typename number>
GM_DEVICE number sum_blocks_below(gm_cluster_sums<number, 2> &sums, int step, number of_block,
                                  number *of_all)
{
    if (threadIdx.x == 0) {
        gm_cluster_sums_expect(sums, step);
    }
    if (threadIdx.x < gridDim.x) {
        gm_cluster_sums_send(sums, step, of_block, threadIdx.x);
    }
    gm_cluster_sums_wait(sums, step);
    number below = 0, all = 0;
#pragma unroll
    for (int i = 0; i < CLUSTER_MOST; i++) {
        below = i == (int)blockIdx.x ? all : below;
        all += i < (int)gridDim.x ? sums.of_block[step % 2][i] : (number)0;
    }
    *of_all = all;
    return below;
}
#endif

template <typename number, typename vector> GM_DEVICE void scan_in_cluster(const scan_args &a)
{
    typedef scan_tile<number, vector, 32, SCAN_WARP_ROWS> warp_tile;
    const int warps = blockDim.x / 32;
    number base = 0; /* of the step */
#if GM_HAS_CLUSTERS
    __shared__ gm_cluster_sums<number, 2> sums;
    if (gridDim.x > 1) {
        gm_cluster_sums_open(sums);
    }
#endif
    gm_wait_for_previous();
    int64_t first = 0; /* of the step, in tiles of warps */
    for (int step = 0; first < a.tiles; step++, first += (int64_t)warps * gridDim.x) {
        const int64_t tile = first + (int)blockIdx.x * warps + (int)(threadIdx.x / 32);
        warp_tile t;
        number of_block;
        scan_load(a, tile, t);
        const number of_this = scan_rows(t, (number)0);
        number below = sum_warps_below(step, of_this, &of_block);
        number of_step = of_block;
#if GM_HAS_CLUSTERS
        if (gridDim.x > 1) {
            if (step == 0) {
                gm_cluster_wait();
            }
            below += sum_blocks_below(sums, step, of_block, &of_step);
        }
#endif
        scan_raise(t, base + below);
        scan_store(a, tile, t);
        base += of_step;
    }
}

GM_KERNEL_BOUNDED(scan_cluster, scan_args, 32 * SCAN_MOST_WARPS, 1)
{
    SCAN_BY_TYPE(scan_in_cluster, a)
}
