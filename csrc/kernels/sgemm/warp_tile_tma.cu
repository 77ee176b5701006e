/*
 * sgemm / warp_tile_tma: almost all instructions are products.
 *
 * Follows  warp_tile, where three instructions of a hundred are addresses, copies and conditions.
 * Idea     one thread requests whole stages of 32 steps from the tensor copy engine, which writes
 *          zeros for what is outside the matrices.
 * Sums     where the tiles would leave multiprocessors idle, several blocks share one, each with a
 *          part of the depth, and a second kernel adds their sums.
 * Banks    as in warp_tile.
 * Build    nvcc -Xptxas=-O1
 * Cost     a factor whose rows the engine cannot take is packed first.
 * Machine  UTMALDG.2D, LDS.128, FFMA
 */
#include "warp_tile_tma.h"

GM_KERNEL_BOUNDED(sgemm_warp_tile_tma, sgemm_engine_args, WARP_TILE_TMA_THREADS, 2)
{
    GM_DYNAMIC_SHARED(float, shared);
    __shared__ gm_mbarrier full[WARP_TILE_TMA_STAGES];
    typedef tma_tile<WARP_TILE_TMA_HEIGHT, WARP_TILE_TMA_WIDTH, WARP_TILE_TMA_STAGES> tile;
    static_assert(tile::threads == WARP_TILE_TMA_THREADS, "a block of the tile's size");
    tma_product<tile>(a, tma_place{blockIdx.x, 0, 0, 0}, shared, full);
}
