/*
 * sgemm / naive: one element of C per thread.
 *
 * Idea     a row of A times a column of B, as the formula says. The lanes of a warp are neighbours
 *          in a row of C: each step loads one number of A for all of them and 32 neighbours of B.
 *          Every two loads serve one multiplication and one addition.
 * Cost     two requests and five sectors for 32 products: the load units set the pace.
 */
#include "sgemm.h"

GM_KERNEL(sgemm_naive, sgemm_args)
{
    /* Tiles of a block's size; a grid has 2^31 blocks, a tall matrix may have more tiles. */
    for (int64_t tile = blockIdx.x; tile < a.tiles_x * a.tiles_y; tile += gridDim.x) {
        const int64_t row = tile / a.tiles_x * blockDim.y + threadIdx.y;
        const int64_t column = tile % a.tiles_x * blockDim.x + threadIdx.x;
        if (row >= a.a.lines || column >= a.b.lines) {
            continue;
        }
        const float *of_a = &a.a.data[row * a.a.line_stride];
        const float *of_b = &a.b.data[column * a.b.line_stride];
        float sum = 0.0f;
        for (int64_t k = 0; k < a.depth; k++) {
            sum += of_a[k * a.a.depth_stride] * of_b[k * a.b.depth_stride];
        }
        sgemm_store(a, row, column, sum);
    }
}
