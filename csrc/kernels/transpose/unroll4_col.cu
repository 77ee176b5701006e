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
    /* A thread has rows first, first + step, ...: the lanes of a warp stay neighbours. */
    const int64_t step = blockDim.x;
    const int64_t first = (int64_t)blockIdx.x * UNROLL * step + threadIdx.x;

    for (int64_t col = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; col < a.cols;
         col += (int64_t)gridDim.y * blockDim.y) {
        uint32_t *out = (uint32_t *)a.out + col * a.rows;
        for (int64_t row = first; row < a.rows; row += UNROLL * (int64_t)gridDim.x * blockDim.x) {
            uint32_t held[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                const uint32_t *in = (const uint32_t *)(a.in + (row + k * step) * a.pitch);
                held[k] = row + k * step < a.rows ? in[col] : 0;
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
