/*
 * matmul / tma: all products of a stack in one launch, by tiles that the copy engine brings.
 *
 * Follows  tiles, whose threads spend instructions on addresses, copies and conditions.
 * Idea     the body of sgemm's warp_tile_tma, where almost all instructions are products. A tensor
 *          map of three dimensions describes a whole factor; a block asks for boxes of one matrix.
 * Layouts  a kernel for each, as in sgemm's warp_tile_tma.
 * Order    the tiles of a product are neighbours in the grid: the L2 holds its factors.
 * Banks    as in sgemm's warp_tile.
 * Build    nvcc -Xptxas=-O1
 * Cost     tiles of 128 x 128 only: at the edges of small matrices most of one is idle.
 * Machine  UTMALDG.3D, LDS.128, FFMA
 */
#include "tma.h"

/* along_a, along_b: the depth of the factor is contiguous. */
template <bool along_a, bool along_b>
GM_DEVICE void tma(const matmul_tma_args &a, float *shared, gm_mbarrier *full)
{
    const sgemm_args &each = a.each.product;
    /* Both fit: see the ladder's hook. */
    const unsigned tiles = (unsigned)(each.tiles_x * each.tiles_y);
    const int product = (int)(blockIdx.x / tiles);
    tma_place place;
    place.tile = blockIdx.x % tiles;
    place.plane_a = a.repeated_a ? 0 : product;
    place.plane_b = a.repeated_b ? 0 : product;
    place.out = product * each.a.lines * each.b.lines;
    tma_product<tma_tile<along_a, along_b, true>>(a.each, place, shared, full);
}

GM_KERNEL_BOUNDED(matmul_tma, matmul_tma_args, WARP_TILE_TMA_THREADS, 2)
{
    GM_DYNAMIC_SHARED(float, shared);
    __shared__ gm_mbarrier full[WARP_TILE_TMA_STAGES];
    tma<true, false>(a, shared, full);
}

#define WAY(name, along_a, along_b)                                                                \
    GM_KERNEL_BOUNDED(matmul_tma_##name, matmul_tma_args, WARP_TILE_TMA_THREADS, 2)                \
    {                                                                                              \
        GM_DYNAMIC_SHARED(float, shared);                                                          \
        __shared__ gm_mbarrier full[WARP_TILE_TMA_STAGES];                                         \
        tma<along_a, along_b>(a, shared, full);                                                    \
    }
WAY(nt, true, true)
WAY(tn, false, false)
WAY(tt, false, true)
