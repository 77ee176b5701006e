/*
 * transpose / copy_col: columns in, columns out. The result is the input.
 *
 * Follows  copy_row.
 * Idea     the lower bound: the lanes of a warp go down a column on both sides, so each of them
 *          touches a sector of its own, 32 bytes for the 4 it wants.
 * Blocks   x runs down a column. Thin blocks, (8, 32) rather than (32, 8), take more neighbours
 *          of a row and so use more of each sector while it is in the L1.
 */
#include "transpose.h"

GM_KERNEL(transpose_copy_col, transpose_args)
{
    for (int64_t col = transpose_index_y(); col < a.cols; col += transpose_stride_y()) {
        uint32_t *out = (uint32_t *)a.out + col;
        for (int64_t row = gm_grid_index(); row < a.rows; row += gm_grid_stride()) {
            out[row * a.cols] = transpose_in<uint32_t>(a, row)[col];
        }
    }
}
