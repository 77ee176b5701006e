/*
 * sgemm / thread_tile: 8 x 8 elements of C per thread, as 2 x 2 squares of 4 x 4.
 *
 * Follows  vec4.
 * Idea     eight numbers of A and eight of B make 64 products: each load serves twice as many as
 *          with 4 x 4. The squares are 64 rows and columns apart, so that neighbouring threads
 *          still load and store neighbouring vectors: with eight columns in a row their vectors
 *          would be 32 bytes apart.
 * Cost     64 sums and 64 loaded numbers per thread leave registers for few warps. Of vec4 three
 *          blocks share a multiprocessor and hide each other's latency; on an H200 this is slower,
 *          and waits for loads in more than half of all samples.
 */
#include "sgemm.h"

enum { TILE = 128 };

GM_KERNEL_BOUNDED(sgemm_thread_tile, sgemm_args, 256, 1)
{
    float sum[8][8] = {};

    /* A grid has at most 65535 blocks in y; z counts on where y ends. */
    const int64_t first_row = ((int64_t)blockIdx.z * gridDim.y + blockIdx.y) * TILE;
    const int64_t first_column = (int64_t)blockIdx.x * TILE;
    const int64_t row = first_row + sgemm_thread_y() * 4;
    const int64_t column = first_column + sgemm_thread_x() * 4;
    if (row >= a.a.lines || column >= a.b.lines) {
        return;
    }
    for (int64_t k = 0; k < a.depth; k += 4) {
        float of_a[4][8], of_b[4][8];
        sgemm_load_square(of_a, 0, a.a, row, k, a.depth);
        sgemm_load_square(of_a, 4, a.a, row + TILE / 2, k, a.depth);
        sgemm_load_square(of_b, 0, a.b, column, k, a.depth);
        sgemm_load_square(of_b, 4, a.b, column + TILE / 2, k, a.depth);
#pragma unroll
        for (int step = 0; step < 4; step++) {
            sgemm_multiply<SGEMM_FORWARD>(sum, of_a[step], of_b[step]);
        }
    }
    sgemm_store_squares(a, first_row, first_column, sum);
}
