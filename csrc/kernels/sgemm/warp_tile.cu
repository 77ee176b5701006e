/*
 * sgemm / warp_tile: tiles of warps, and several stages of asynchronous copies.
 *
 * Follows  hide_global_latency.
 * Idea     8 x 16 per thread: 128 products for the 24 numbers of a step, where 8 x 8 has 64 for 16.
 *          The 32 threads of a warp have a tile of their own, so that their requests to shared
 *          memory meet in few words.
 * Stages   tiles of 8 steps are copied past the registers, three ahead of the one in use: none has
 *          to be held while another is computed, and there is one barrier per tile.
 * Cost     236 registers per thread: two blocks of four warps per multiprocessor.
 * Machine  LDGSTS, LDS.128, FFMA
 */
#include "warp_tile.h"

GM_KERNEL_BOUNDED(sgemm_warp_tile, sgemm_args, 128, 2)
{
    GM_DYNAMIC_SHARED(float, shared);
    warp_tile_product<128, 128, 8, 4, 8, 16, 4>(a, shared);
}
