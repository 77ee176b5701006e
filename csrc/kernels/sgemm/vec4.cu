/*
 * sgemm / vec4: 4 x 4 elements of C per thread, 128-bit loads.
 *
 * Follows  naive.
 * Idea     a number in a register is used four times: four numbers of A and four of B make sixteen
 *          products. Loads bring four numbers at a time: eight loads of 128 bits are four steps
 *          of four rows of A and of four columns of B, enough for 64 products.
 * Machine  LDG.E.128, STG.E.128
 */
#include "sgemm.h"

enum { SQUARE = 4 };

GM_KERNEL(sgemm_vec4, sgemm_args)
{
    float sum[SQUARE][SQUARE] = {};

    /* x walks a group of rows of tiles column by column; y and z are groups: see sgemm.h. */
    const unsigned group_y = (blockIdx.z * gridDim.y + blockIdx.y) * a.group;
    const int64_t tile_y = group_y + blockIdx.x % a.group, tile_x = blockIdx.x / a.group;
    const int64_t row = (tile_y * SGEMM_SIDE + sgemm_thread_y()) * SQUARE;
    const int64_t column = (tile_x * SGEMM_SIDE + sgemm_thread_x()) * SQUARE;
    if (row >= a.a.lines || column >= a.b.lines) {
        return;
    }
    for (int64_t k = 0; k < a.depth; k += 4) {
        float of_a[4][SQUARE], of_b[4][SQUARE];
        sgemm_load_square(of_a, 0, a.a, row, k, a.depth);
        sgemm_load_square(of_b, 0, a.b, column, k, a.depth);
#pragma unroll
        for (int step = 0; step < 4; step++) {
            sgemm_multiply<SGEMM_FORWARD>(sum, of_a[step], of_b[step]);
        }
    }
#pragma unroll
    for (int i = 0; i < SQUARE; i++) {
        sgemm_store4(a, row + i, column, sum[i]);
    }
}
