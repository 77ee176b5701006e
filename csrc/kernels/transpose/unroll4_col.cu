/*
 * transpose / unroll4_col: reads columns, writes rows, four elements per thread.
 *
 * Follows  naive_col, which has one load in flight per thread.
 * Idea     as in unroll4_row, with the scattered loads in flight together. A block is four
 *          blocks wide along the rows of the output.
 */
#include "transpose.h"

enum { UNROLL = 4 }; /* `elements` in the ladder */

GM_KERNEL(transpose_unroll4_col, transpose_args)
{
    const int64_t step = blockDim.x;
    const int64_t first = (int64_t)blockIdx.x * UNROLL * step + threadIdx.x;

    for (int64_t col = transpose_index_y(); col < a.cols; col += transpose_stride_y()) {
        uint32_t *out = transpose_out<uint32_t>(a, col);
        for (int64_t row = first; row < a.rows; row += UNROLL * gm_grid_stride()) {
            uint32_t held[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                int64_t at = row + k * step;
                held[k] = at < a.rows ? transpose_in<uint32_t>(a, at)[col] : 0;
            }
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                if (row + k * step < a.rows) {
                    out[row + k * step] = held[k];
                }
            }
        }
    }
}
