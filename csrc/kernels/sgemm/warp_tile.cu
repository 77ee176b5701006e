/*
 * sgemm / warp_tile: tiles of warps, and several stages of asynchronous copies.
 *
 * Follows  hide_global_latency.
 * Idea     8 x 16 per thread: 128 products for the 24 numbers of a step, where 8 x 8 has 64 for 16.
 *          The 32 threads of a warp have a tile of their own, so that their requests to shared
 *          memory meet in few words.
 * Stages   tiles of 8 steps are copied past the registers, three ahead of the one in use: none has
 *          to be held while another is computed, and there is one barrier per tile.
 * A        stays as it lies: where its rows run on, a thread reads four steps of a row at once, and
 *          nothing has to be turned.
 * Banks    of the three registers of a product one is kept from the product before, and the two
 *          others come from two banks: see banks.h. It is the order of the source that makes it so,
 *          which the optimiser of the machine code would change.
 * Build    nvcc -Xptxas=-O1
 * Cost     246 registers per thread: two blocks of four warps per multiprocessor.
 * Machine  LDGSTS, LDS.128, FFMA
 */
#include "warp_tile.h"

GM_KERNEL_BOUNDED(sgemm_warp_tile, sgemm_args, 128, 2)
{
    GM_DYNAMIC_SHARED(float, shared);
    gm_wait_for_previous();
    warp_tile_product<warp_tile<128, 128, 4, 8, 16>>(a, shared);
}
