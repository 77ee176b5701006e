/*
 * transpose / tile: through a 32 x 32 tile in shared memory.
 *
 * Follows  naive_row and naive_col, each of them scattered on one side.
 * Idea     a block reads rows of its tile and writes rows of the turned tile; the turning is
 *          done in shared memory, which has no sectors: 4 per request on both global sides.
 * Cost     a column of the tile has 32 words that are 32 apart and so in one bank: each of the
 *          reads takes 32 passes.
 */
#include "transpose.h"

enum {
    TILE = 32,
    ROWS = 8, /* of a tile at a time: blockDim.y */
};

GM_KERNEL(transpose_tile, transpose_args)
{
    __shared__ uint32_t tile[TILE][TILE];
    const transpose_place at = transpose_place_of(a);

    /* Reading: neighbours in x are neighbours in a row of the input. */
    int64_t row = (int64_t)at.y * TILE + threadIdx.y;
    int64_t col = (int64_t)at.x * TILE + threadIdx.x;
#pragma unroll
    for (int i = 0; i < TILE; i += ROWS) {
        if (row + i < a.rows && col < a.cols) {
            tile[threadIdx.y + i][threadIdx.x] = transpose_in<uint32_t>(a, row + i)[col];
        }
    }
    __syncthreads(); /* outside every branch: all threads of the block arrive */

    /* Writing: neighbours in x are neighbours in a row of the output. */
    row = (int64_t)at.y * TILE + threadIdx.x;
    col = (int64_t)at.x * TILE + threadIdx.y;
#pragma unroll
    for (int i = 0; i < TILE; i += ROWS) {
        if (row < a.rows && col + i < a.cols) {
            transpose_out<uint32_t>(a, col + i)[row] = tile[threadIdx.x][threadIdx.y + i];
        }
    }
}
