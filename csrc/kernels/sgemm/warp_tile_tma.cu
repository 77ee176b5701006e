/*
 * sgemm / warp_tile_tma: almost all instructions are products.
 *
 * Follows  warp_tile, where three instructions of a hundred are addresses, copies and conditions.
 * Idea     one thread requests whole stages of 32 steps from the tensor copy engine, which writes
 *          zeros for what is outside the matrices.
 * Sums     where the tiles would leave multiprocessors idle, several blocks share one, each with a
 *          part of the depth, and a second kernel adds their sums.
 * Layouts  a kernel for each: a B whose columns are contiguous is transposed in shared memory, and
 *          beside it an A whose rows are.
 * Banks    as in warp_tile.
 * Build    nvcc -Xptxas=-O1
 * Cost     a factor whose rows do not begin at multiples of 16 bytes is packed first.
 * Machine  UTMALDG.2D, LDS.128, FFMA
 */
#include "warp_tile_tma.h"

GM_KERNEL_BOUNDED(sgemm_warp_tile_tma, sgemm_engine_args, WARP_TILE_TMA_THREADS, 2)
{
    GM_DYNAMIC_SHARED(float, shared);
    __shared__ gm_mbarrier full[WARP_TILE_TMA_STAGES];
    tma_product<tma_tile<true, false>>(a, tma_place{blockIdx.x, 0, 0, 0}, shared, full);
}

#define WAY(name, along_a, along_b)                                                                \
    GM_KERNEL_BOUNDED(sgemm_warp_tile_tma_##name, sgemm_engine_args, WARP_TILE_TMA_THREADS, 2)     \
    {                                                                                              \
        GM_DYNAMIC_SHARED(float, shared);                                                          \
        __shared__ gm_mbarrier full[WARP_TILE_TMA_STAGES];                                         \
        tma_product<tma_tile<along_a, along_b>>(a, tma_place{blockIdx.x, 0, 0, 0}, shared, full);  \
    }
WAY(nt, true, true)
WAY(tn, false, false)
WAY(tt, false, true)
