/*
 * transpose / diagonal_col: naive_col with its blocks reordered along diagonals.
 *
 * Follows  naive_col.
 * Idea     as in diagonal_row; here the scattered side is the load. A block's x runs down a
 *          column of the input.
 */
#include "transpose.h"

GM_KERNEL(transpose_diagonal_col, transpose_args)
{
    const uint32_t *in = (const uint32_t *)a.in;
    uint32_t *out = (uint32_t *)a.out;
    const int64_t pitch = a.pitch / (int64_t)sizeof(uint32_t); /* elements from row to row */
    const int64_t tiles = a.tiles_x * a.tiles_y;

    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int64_t tile_y = tile % a.tiles_y;
        const int64_t tile_x = (tile / a.tiles_y + tile_y) % a.tiles_x;
        const int64_t row = tile_y * blockDim.x + threadIdx.x;
        const int64_t col = tile_x * blockDim.y + threadIdx.y;
        if (row < a.rows && col < a.cols) {
            out[col * a.rows + row] = in[row * pitch + col];
        }
    }
}
