/*
 * sgemm / naive: one element of C per thread, neighbouring threads along a row of C.
 *
 * Follows  naive_col, whose warps read 32 rows of A and write 32 rows of C.
 * Idea     the same loop with x and y exchanged. In each step the lanes of a warp read one number
 *          of A, which serves all of them, and 32 neighbours in a row of B: 4 sectors. They write
 *          32 neighbours in a row of C.
 * Cost     two requests and five sectors for 32 products: the load units set the pace.
 */
#include "sgemm.h"

GM_KERNEL(sgemm_naive, sgemm_args)
{
    /* A grid has at most 65535 blocks in y; z counts on where y ends. */
    const int64_t block_y = (int64_t)blockIdx.z * gridDim.y + blockIdx.y;
    const int64_t row = block_y * blockDim.y + threadIdx.y;
    const int64_t column = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
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
