/*
 * transpose / unroll4_row: reads rows, writes columns, four elements per thread.
 *
 * Follows  naive_row, which has one load in flight per thread.
 * Idea     a block is four blocks wide, and a thread loads all of its four elements before it
 *          stores the first. Each of the four is checked against the width by itself, or the
 *          remainder of a width that is no multiple of four blocks would be lost.
 */
#include "transpose.h"

enum { UNROLL = 4 }; /* `elements` in the ladder */

GM_KERNEL(transpose_unroll4_row, transpose_args)
{
    const int64_t step = blockDim.x;
    const int64_t first = (int64_t)blockIdx.x * UNROLL * step + threadIdx.x;

    for (int64_t row = transpose_index_y(); row < a.rows; row += transpose_stride_y()) {
        const uint32_t *in = transpose_in<uint32_t>(a, row);
        for (int64_t col = first; col < a.cols; col += UNROLL * gm_grid_stride()) {
            uint32_t held[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                held[k] = col + k * step < a.cols ? in[col + k * step] : 0;
            }
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                if (col + k * step < a.cols) {
                    transpose_out<uint32_t>(a, col + k * step)[row] = held[k];
                }
            }
        }
    }
}
