/*
 * transpose / tile_swizzled: the words of each row of the tile change places.
 *
 * Follows  tile_padded, which spends 128 bytes.
 * Idea     row r keeps its column c at place c ^ r. A row still fills 32 banks, in another
 *          order; and down a column r changes, so that c ^ r takes 32 values too: no conflicts
 *          and no spare bytes.
 */
#include "transpose.h"

enum {
    TILE = 32,
    ROWS = 8, /* of a tile at a time: blockDim.y */
};

GM_KERNEL(transpose_tile_swizzled, transpose_args)
{
    __shared__ uint32_t tile[TILE][TILE];
    const transpose_place at = transpose_place_of(a);

    /* Reading: neighbours in x are neighbours in a row of the input. */
    int64_t row = (int64_t)at.y * TILE + threadIdx.y;
    int64_t col = (int64_t)at.x * TILE + threadIdx.x;
#pragma unroll
    for (int i = 0; i < TILE; i += ROWS) {
        if (row + i < a.rows && col < a.cols) {
            tile[threadIdx.y + i][threadIdx.x ^ (threadIdx.y + i)] =
                transpose_in<uint32_t>(a, row + i)[col];
        }
    }
    __syncthreads(); /* outside every branch: all threads of the block arrive */

    /* Writing: neighbours in x are neighbours in a row of the output. */
    row = (int64_t)at.y * TILE + threadIdx.x;
    col = (int64_t)at.x * TILE + threadIdx.y;
#pragma unroll
    for (int i = 0; i < TILE; i += ROWS) {
        if (row < a.rows && col + i < a.cols) {
            transpose_out<uint32_t>(a, col + i)[row] =
                tile[threadIdx.x][(threadIdx.y + i) ^ threadIdx.x];
        }
    }
}
