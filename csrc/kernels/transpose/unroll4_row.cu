/*
 * transpose / unroll4_row: reads rows, writes columns, four elements per thread.
 *
 * Follows  naive_row, which has one load in flight per thread.
 * Idea     a block is four blocks wide, and a thread loads all of its four elements before it
 *          stores the first. Each of the four has a bounds check of its own: a width need not
 *          be a multiple of four blocks.
 */
#include "transpose.h"

enum { UNROLL = 4 }; /* `elements` in the ladder */

GM_KERNEL(transpose_unroll4_row, transpose_args)
{
    uint32_t *out = (uint32_t *)a.out;

    /* A thread has columns first, first + step, ...: the lanes of a warp are neighbours. */
    const int64_t step = blockDim.x;
    const int64_t first = (int64_t)blockIdx.x * UNROLL * step + threadIdx.x;

    for (int64_t row = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; row < a.rows;
         row += (int64_t)gridDim.y * blockDim.y) {
        const uint32_t *in = (const uint32_t *)(a.in + row * a.pitch);
        for (int64_t col = first; col < a.cols; col += UNROLL * (int64_t)gridDim.x * blockDim.x) {
            uint32_t held[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                held[k] = col + k * step < a.cols ? in[col + k * step] : 0;
            }
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                if (col + k * step < a.cols) {
                    out[(col + k * step) * a.rows + row] = held[k];
                }
            }
        }
    }
}
