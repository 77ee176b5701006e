/*
 * sgemm / smem_transposed: A's tile stored column by column.
 *
 * Follows  smem.
 * Idea     with the rows of a step side by side, a thread's eight rows are two vectors, like its
 *          eight columns of B: it holds 16 numbers of one step instead of 40 of four. The saved
 *          registers make room for a second block on each multiprocessor.
 * Cost     A is transposed on its way: four stores of 32 bits instead of one of 128. A spare vector
 *          per step keeps them free of bank conflicts.
 */
#include "tiles.h"

GM_KERNEL_BOUNDED(sgemm_smem_transposed, sgemm_args, 256, 2)
{
    __shared__ __align__(16) float tile_a[STEPS][PITCH];
    __shared__ __align__(16) float tile_b[STEPS][PITCH];

    float4 held_a[2], held_b[2];
    float of_a[8], of_b[8], sum[8][8] = {};

    /* A grid has at most 65535 blocks in y; z counts on where y ends. */
    const int64_t row = ((int64_t)blockIdx.z * gridDim.y + blockIdx.y) * TILE;
    const int64_t column = (int64_t)blockIdx.x * TILE;
    tile_source source_a = tile_begin(a.a, row), source_b = tile_begin(a.b, column);
    const int y = sgemm_thread_y() * 4, x = sgemm_thread_x() * 4;

    for (int64_t first = 0; first < a.depth; first += STEPS) {
        tile_load(held_a, a.a, source_a, a.depth - first);
        tile_load(held_b, a.b, source_b, a.depth - first);
        __syncthreads(); /* all have read the previous tiles */
        tile_store(tile_a, held_a, a.a);
        tile_store(tile_b, held_b, a.b);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            tile_read(of_a, tile_a[k], y);
            tile_read(of_b, tile_b[k], x);
            sgemm_multiply<SGEMM_TO_AND_FRO>(sum, of_a, of_b);
        }
    }
    sgemm_store_squares(a, row, column, sum);
}
