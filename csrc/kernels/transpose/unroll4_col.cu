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
    const uint32_t *in = (const uint32_t *)a.in;
    uint32_t *out = (uint32_t *)a.out;
    const int64_t pitch = a.pitch / (int64_t)sizeof(uint32_t); /* elements from row to row */

    /* The thread's rows are first, first + blockDim.x, ...: the lanes of a warp stay neighbours. */
    const int64_t first = (int64_t)blockIdx.x * UNROLL * blockDim.x + threadIdx.x;
    const int64_t step = blockDim.x;

    for (int64_t col = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; col < a.cols;
         col += (int64_t)gridDim.y * blockDim.y) {
#pragma unroll 1 /* one turn is the usual case */
        for (int64_t row = first; row < a.rows; row += (int64_t)gridDim.x * UNROLL * blockDim.x) {
            uint32_t held[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                held[k] = row + k * step < a.rows ? in[(row + k * step) * pitch + col] : 0;
            }
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                if (row + k * step < a.rows) {
                    out[col * a.rows + row + k * step] = held[k];
                }
            }
        }
    }
}
