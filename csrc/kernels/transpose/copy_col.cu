/*
 * transpose / copy_col: columns in, columns out. The result is the input.
 *
 * Follows  copy_row.
 * Idea     the lower bound: the lanes of a warp go down a column on both sides, so each of them
 *          touches a sector of its own, 32 bytes for the 4 that it uses.
 * Blocks   x runs down a column. Thin blocks, (8, 32) instead of (32, 8), take more neighbours
 *          of a row and so use more of each sector while it is in the L1.
 */
#include "transpose.h"

GM_KERNEL(transpose_copy_col, transpose_args)
{
    const uint32_t *in = (const uint32_t *)a.in;
    uint32_t *out = (uint32_t *)a.out;
    const int64_t pitch = a.pitch / (int64_t)sizeof(uint32_t); /* elements from row to row */

    /* A thread has one element; it takes more of a matrix that is larger than a grid. */
    for (int64_t col = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; col < a.cols;
         col += (int64_t)gridDim.y * blockDim.y) {
#pragma unroll 1 /* one turn is the usual case */
        for (int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; row < a.rows;
             row += (int64_t)gridDim.x * blockDim.x) {
            out[row * a.cols + col] = in[row * pitch + col];
        }
    }
}
