/*
 * What warp_tile and warp_tile_tma share: the tile of a warp, who holds what of it, and what a
 * thread reads and computes in a step of the sum.
 *
 * The 32 lanes of a warp, as a grid of 4 x 8, with the number of each lane:
 *
 *            x = 0   1   2   3   4   5   6   7
 *     y = 0      0   2   4   6   8  10  12  14      The two lanes of a pair share their columns,
 *     y = 1      1   3   5   7   9  11  13  15      the 16 of a half warp two rows of lanes: the
 *     y = 2     16  18  20  22  24  26  28  30      halves of a request for 16 bytes per lane
 *     y = 3     17  19  21  23  25  27  29  31      are each served in one pass.
 *
 * A thread's columns are vectors of four, 32 columns apart; between them are those of the other
 * seven x. Its rows are single ones, 4 apart, where A is `kept`, and vectors of four rows, 16
 * apart, where it is not:
 *
 *     columns       0-3  4-7  ...  28-31   32-35 ...         rows, kept     rows, not kept
 *     lane's x       0    1   ...    7       0   ...         0 1 2 3 0 1    0 0 0 0 1 1 1 1 2 ...
 *
 * In shared memory the numbers of B for one step are side by side. Those of A are too, unless A is
 * kept as it is in global memory, where its depth is contiguous: then the eight steps of a row are
 * side by side, a thread reads four steps of a row at once, and the four rows that a warp requests
 * at a time fill the 32 banks.
 */
#ifndef GPUMEM_SGEMM_WARP_H
#define GPUMEM_SGEMM_WARP_H

#include "banks.h"
#include "sgemm.h"

enum { WARP_LANES_Y = 4, WARP_LANES_X = 8, WARP_STEPS = 8 };

GM_DEVICE int warp_lane_x(void)
{
    return threadIdx.x % 32 / 2 % 8;
}

GM_DEVICE int warp_lane_y(void)
{
    return threadIdx.x % 32 / 16 * 2 + threadIdx.x % 2;
}

GM_DEVICE void warp_read4(float *held, const float *from)
{
    const float4 four = *(const float4 *)from;
    held[0] = four.x, held[1] = four.y, held[2] = four.z, held[3] = four.w;
}

/* A thread's rows or columns in one step: vectors, `lanes` vectors apart. */
template <int count, int lanes> GM_DEVICE void warp_read(float *held, const float *from)
{
#pragma unroll
    for (int i = 0; i < count; i += 4) {
        warp_read4(held + i, from + i * lanes);
    }
}

/* Four steps of a thread's i-th row. */
GM_DEVICE void warp_read_steps(float *held, const float *from, int i)
{
    warp_read4(held + 4 * i, from + i * (WARP_LANES_Y * WARP_STEPS));
}

/* The first of a thread's numbers of A: four steps of each row where it is kept, else the rows of
 * one step. */
template <bool kept, int rows> GM_DEVICE void warp_read_first(float *held, const float *from)
{
    if (kept) {
#pragma unroll
        for (int i = 0; i < rows; i++) {
            warp_read_steps(held, from, i);
        }
    } else {
        warp_read<rows, WARP_LANES_Y>(held, from);
    }
}

/*
 * The products of step k of eight, for the first `part_rows` of a thread's rows and `part_columns`
 * of its columns. of_a holds four steps of each row where A is kept, else the rows of an even and
 * of an odd step. Where A is kept, the fourth step reads the next four of each row into the
 * registers that it has just used.
 */
template <bool kept, int part_rows, int part_columns, int rows, int columns>
GM_DEVICE void warp_multiply_part(float (&sum)[rows][columns], float *of_a,
                                  const float (&of_b)[columns], int k, const float *next_a)
{
#pragma unroll
    for (int i = 0; i < part_rows; i++) {
        const float of_row = of_a[kept ? 4 * i + k % 4 : k % 2 * rows + i];
#pragma unroll
        for (int n = 0; n < part_columns; n++) {
            const int to = banks_nth<part_columns>(i, n, kept ? k % 2 : 0, kept ? k % 2 : 1);
            sum[i][to] += of_row * of_b[to ^ 1];
        }
        if (kept && k % 4 == 3) {
            warp_read_steps(of_a, next_a, i);
        }
    }
}

template <bool kept, int rows, int columns>
GM_DEVICE void warp_multiply(float (&sum)[rows][columns], float *of_a, const float (&of_b)[columns],
                             int k, const float *next_a)
{
    warp_multiply_part<kept, rows, columns>(sum, of_a, of_b, k, next_a);
}

/* Sums start at zero, loaded from shared memory: see banks_take_quad. */
template <int rows, int columns>
GM_DEVICE void warp_begin(float (&sum)[rows][columns], const float4 *zeros)
{
#pragma unroll
    for (int i = 0; i < rows * columns; i += 4) {
        banks_take_quad(&sum[i / columns][i % columns], zeros);
    }
}

#endif
