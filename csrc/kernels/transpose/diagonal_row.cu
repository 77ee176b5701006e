/*
 * transpose / diagonal_row: naive_row with its blocks reordered along diagonals.
 *
 * Follows  naive_row, whose blocks, started side by side, all write down the same columns.
 * Idea     where the width is a power of two those columns are a power of two apart, and on
 *          old memory systems fell to one channel ("partition camping"). Blocks that start
 *          together take tiles along a diagonal instead, new rows and new columns each. Today's
 *          memory controllers scatter addresses themselves.
 * Grid     one dimension. Counting down the rows of tiles first, and going one to the right in
 *          each, visits every tile once on any grid, square or not.
 */
#include "transpose.h"

GM_KERNEL(transpose_diagonal_row, transpose_args)
{
    const int64_t tiles = a.tiles_x * a.tiles_y;

    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int64_t tile_y = tile % a.tiles_y;
        const int64_t tile_x = (tile / a.tiles_y + tile_y) % a.tiles_x;
        const int64_t row = tile_y * blockDim.y + threadIdx.y;
        const int64_t col = tile_x * blockDim.x + threadIdx.x;
        if (row < a.rows && col < a.cols) {
            transpose_out<uint32_t>(a, col)[row] = transpose_in<uint32_t>(a, row)[col];
        }
    }
}
