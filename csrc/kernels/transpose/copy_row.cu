/*
 * transpose / copy_row: rows in, rows out. The result is the input.
 *
 * Idea     the best that the naive kernels could reach: the same grid, the same 32-bit accesses,
 *          but the lanes of a warp are neighbours in memory on both sides.
 * Limits   it bounds the naive kernels only: tiles with wider accesses are faster.
 * Blocks   x runs along a row. A block of (32, 8) has rows of 128 bytes, one of (8, 32) of 32.
 */
#include "transpose.h"

GM_KERNEL(transpose_copy_row, transpose_args)
{
    const uint32_t *in = (const uint32_t *)a.in;
    uint32_t *out = (uint32_t *)a.out;
    const int64_t pitch = a.pitch / (int64_t)sizeof(uint32_t); /* elements from row to row */

    /* A thread has one element; it takes more of a matrix that is larger than a grid. */
    for (int64_t row = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; row < a.rows;
         row += (int64_t)gridDim.y * blockDim.y) {
#pragma unroll 1 /* one turn is the usual case */
        for (int64_t col = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; col < a.cols;
             col += (int64_t)gridDim.x * blockDim.x) {
            out[row * a.cols + col] = in[row * pitch + col];
        }
    }
}
