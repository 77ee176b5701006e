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
    /* A thread has columns first, first + step, ...: the lanes of a warp are neighbours. */
    const int64_t step = blockDim.x;
    const int64_t first = (int64_t)blockIdx.x * UNROLL * blockDim.x + threadIdx.x;

    /* A thread takes more of a matrix that is larger than a grid. That is the case in y first,
     * which has at most 65535 blocks: so the inner loop goes along y. */
#pragma unroll 1
    for (int64_t col = first; col < a.cols; col += (int64_t)gridDim.x * UNROLL * blockDim.x) {
#pragma unroll 1
        for (int64_t row = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; row < a.rows;
             row += (int64_t)gridDim.y * blockDim.y) {
            const uint32_t *from = (const uint32_t *)(a.in + row * a.pitch) + col;
            uint32_t *to = (uint32_t *)a.out + col * a.rows + row;
            const int64_t left = a.cols - col;
            uint32_t held[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                held[k] = k * step < left ? from[k * step] : 0;
            }
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                if (k * step < left) {
                    to[k * step * a.rows] = held[k];
                }
            }
        }
    }
}
