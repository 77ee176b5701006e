/*
 * transpose / naive_row: reads rows, writes columns.
 *
 * Follows  copy_row.
 * Idea     one element per thread; neighbouring lanes read neighbours and write `rows` elements
 *          apart: 4 sectors per load, 32 per store.
 * Blocks   x runs along a row of the input. Thin blocks, (8, 32) instead of (32, 8), write
 *          whole sectors of the output from one block.
 */
#include "transpose.h"

GM_KERNEL(transpose_naive_row, transpose_args)
{
    /* A thread has one element; it takes more of a matrix that is larger than a grid.
     * gm_grid_index() is blockIdx.x * blockDim.x + threadIdx.x. Written out, it makes nvcc order
     * the instructions otherwise, and 32768 x 32768 took 1.05 times as long on an H200. */
    for (int64_t row = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; row < a.rows;
         row += (int64_t)gridDim.y * blockDim.y) {
        const uint32_t *in = (const uint32_t *)(a.in + row * a.pitch);
        for (int64_t col = gm_grid_index(); col < a.cols; col += gm_grid_stride()) {
            uint32_t *out = (uint32_t *)a.out + col * a.rows;
            out[row] = in[col];
        }
    }
}
