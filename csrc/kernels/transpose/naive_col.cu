/*
 * transpose / naive_col: reads columns, writes rows.
 *
 * Follows  naive_row.
 * Idea     the scattered side is the load: 32 sectors per load, 4 per store. A sector that was
 *          fetched for 4 bytes may still be in the L1 when the next column asks for it; a store
 *          has no such luck.
 * Blocks   x runs down a column of the input.
 */
#include "transpose.h"

GM_KERNEL(transpose_naive_col, transpose_args)
{
    for (int64_t col = transpose_index_y(); col < a.cols; col += transpose_stride_y()) {
        uint32_t *out = transpose_out<uint32_t>(a, col);
        for (int64_t row = gm_grid_index(); row < a.rows; row += gm_grid_stride()) {
            out[row] = transpose_in<uint32_t>(a, row)[col];
        }
    }
}
