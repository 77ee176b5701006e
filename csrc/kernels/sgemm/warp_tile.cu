/*
 * sgemm / warp_tile: tiles of warps, and several stages of asynchronous copies.
 *
 * Follows  hide_global_latency.
 * Idea     8 x 16 per thread: 128 products for the 24 numbers of a step, where 8 x 8 has 64 for 16.
 *          The 32 threads of a warp share a tile, so that their requests to shared memory are for
 *          few different words.
 * Stages   asynchronous copies of tiles of 8 steps bypass the registers, three tiles ahead of the
 *          one in use; there is one barrier per tile.
 * A        keeps its layout: where its rows are contiguous a thread reads four steps of a row at
 *          once, and nothing is transposed.
 * Banks    of the three registers of a product one is reused from the product before, and the two
 *          others are in different banks: see banks.h. The order of the source makes it so, which
 *          higher optimisation levels of ptxas would change.
 * Build    nvcc -Xptxas=-O1
 * Cost     250 registers per thread: two blocks of four warps per multiprocessor.
 * Machine  LDGSTS, LDS.128, FFMA
 */
#include "warp_tile.h"

GM_KERNEL_BOUNDED(sgemm_warp_tile, sgemm_args, 128, 2)
{
    typedef warp_tile<128, 128, 4, 8, 16> tile;
    static_assert(tile::threads == 128 && tile::shared_bytes == 35840, "as in the ladder");
    GM_DYNAMIC_SHARED(float, shared);
    gm_wait_for_previous();
    warp_tile_product<tile>(a, shared);
}
