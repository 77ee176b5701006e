/*
 * transpose / copy_row: rows in, rows out. The result is the input.
 *
 * Idea     what the naive kernels could reach at best: the same grid, as much work and accesses
 *          of 32 bits, but the lanes of a warp are neighbours in memory on both sides.
 * Limits   no bound for the others: tiles of wider accesses pass it.
 * Blocks   x runs along a row. A block of (32, 8) has rows of 128 bytes, one of (8, 32) of 32.
 */
#include "transpose.h"

GM_KERNEL(transpose_copy_row, transpose_args)
{
    for (int64_t row = transpose_index_y(); row < a.rows; row += transpose_stride_y()) {
        const uint32_t *in = transpose_in<uint32_t>(a, row);
        uint32_t *out = (uint32_t *)a.out + row * a.cols;
        for (int64_t col = gm_grid_index(); col < a.cols; col += gm_grid_stride()) {
            out[col] = in[col];
        }
    }
}
