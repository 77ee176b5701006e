/*
 * transpose / diagonal_row: naive_row with its blocks reordered along diagonals.
 *
 * Follows  naive_row, whose blocks, started side by side, all write down the same columns.
 * Idea     where the width is a power of two those columns are a power of two apart, and on old
 *          memory systems they shared one channel ("partition camping"). Blocks that start
 *          together take tiles along a diagonal instead, each with rows and columns of its own.
 *          Today's memory controllers hash addresses, so that little is left to gain.
 * Grid     one dimension. Blocks count down the rows of tiles and move one tile to the right with
 *          each: every tile is visited once, whether the matrix is square or not.
 */
#include "transpose.h"

GM_KERNEL(transpose_diagonal_row, transpose_args)
{
    const uint32_t *in = (const uint32_t *)a.in;
    uint32_t *out = (uint32_t *)a.out;
    const int64_t pitch = a.pitch / (int64_t)sizeof(uint32_t); /* elements from row to row */
    const int64_t tiles = a.tiles_x * a.tiles_y;

    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int64_t tile_y = tile % a.tiles_y;
        const int64_t tile_x = (tile / a.tiles_y + tile_y) % a.tiles_x;
        const int64_t row = tile_y * blockDim.y + threadIdx.y;
        const int64_t col = tile_x * blockDim.x + threadIdx.x;
        if (row < a.rows && col < a.cols) {
            out[col * a.rows + row] = in[row * pitch + col];
        }
    }
}
