/*
 * transpose / tile_padded: a shared-memory tile with one spare column.
 *
 * Follows  tile, whose column reads all fall into one bank: 32 passes each.
 * Idea     with 33 words per row a step down a column is a step to the next bank,
 *          so the 32 lanes of a warp find 32 banks.
 * Cost     128 unused bytes of shared memory per block.
 */
#include "transpose.h"

enum {
    TILE = 32,
    ROWS = 8, /* of a tile at a time: blockDim.y */
};

GM_KERNEL(transpose_tile_padded, transpose_args)
{
    __shared__ uint32_t tile[TILE][TILE + 1];
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
