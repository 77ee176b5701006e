/*
 * sgemm / naive_col: one element of C per thread, neighbouring threads down a column of C.
 *
 * Idea     a row of A times a column of B, as the formula says. x counts rows and y columns, as the
 *          formula names them first and second: a warp has 32 rows of one column.
 * Cost     in each step its lanes read 32 rows of A, a sector of 32 bytes each for 4 that they use;
 *          one number of B serves all. The result goes to 32 rows of C, a sector each as well.
 */
#include "sgemm.h"

GM_KERNEL(sgemm_naive_col, sgemm_args)
{
    /* A grid has at most 65535 blocks in y; z counts on where y ends. */
    const int64_t block_y = (int64_t)blockIdx.z * gridDim.y + blockIdx.y;
    const int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t column = block_y * blockDim.y + threadIdx.y;
    if (row >= a.a.lines || column >= a.b.lines) {
        return;
    }
    const float *of_a = &a.a.data[row * a.a.line_stride];
    const float *of_b = &a.b.data[column * a.b.line_stride];
    float sum = 0.0f;
#pragma unroll 16 /* loads that wait side by side */
    for (int64_t left = a.depth; left > 0; left--) {
        sum += *of_a * *of_b;
        of_a += a.a.depth_stride;
        of_b += a.b.depth_stride;
    }
    sgemm_store(a, row, column, sum);
}
