/*
 * transpose / naive_col: reads columns, writes rows.
 *
 * Follows  naive_row.
 * Idea     the scattered side is the load: 32 sectors per load, 4 per store. A sector that was
 *          fetched for 4 bytes may still be in the L1 when the next column needs it; stores are
 *          not collected in the L1.
 * Blocks   x runs down a column of the input.
 */
#include "transpose.h"

GM_KERNEL(transpose_naive_col, transpose_args)
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
            out[col * a.rows + row] = in[row * pitch + col];
        }
    }
}
