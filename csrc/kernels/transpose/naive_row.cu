/*
 * transpose / naive_row: reads rows, writes columns.
 *
 * Follows  copy_row.
 * Idea     one element per thread; neighbouring lanes read neighbours and write `rows` elements
 *          apart: 4 sectors per load, 32 per store.
 * Blocks   x runs along a row of the input. Thin blocks, (8, 32) rather than (32, 8), write
 *          whole sectors of the output from one block.
 */
#include "transpose.h"

GM_KERNEL(transpose_naive_row, transpose_args)
{
    for (int64_t row = transpose_index_y(); row < a.rows; row += transpose_stride_y()) {
        const uint32_t *in = transpose_in<uint32_t>(a, row);
        for (int64_t col = gm_grid_index(); col < a.cols; col += gm_grid_stride()) {
            transpose_out<uint32_t>(a, col)[row] = in[col];
        }
    }
}
