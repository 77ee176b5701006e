/*
 * What the tiles of warp_tile and warp_tile_tma have in common: a warp's 32 threads, 4 high and 8
 * wide, and what a thread reads and computes in a step. Its columns are vectors of four, and so are
 * its rows, or they are single ones; between them are those of the warp's other threads.
 */
#ifndef GPUMEM_SGEMM_WARP_H
#define GPUMEM_SGEMM_WARP_H

#include "banks.h"

/*
 * In shared memory a step's lines of B are side by side. Of A it is so, or the steps of a line are,
 * eight of them, `kept` along the depth: a thread then reads four steps of a row at once, and the
 * four rows of a warp's request fill the 32 banks.
 */
enum { WARP_LANES_Y = 4, WARP_LANES_X = 8, WARP_STEPS = 8 };

/* Neighbours share their columns if one is even, and their rows in runs of a row of lanes: the
 * halves of a warp's request for 16 bytes each are then served at once. */
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

/* Lines of a thread in one step: vectors, `lanes` vectors apart. */
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

/*
 * Step k of eight. of_a: four steps of each row, or the rows of even and of odd steps. Where steps
 * are kept, the next four are read, row by row, into the registers that have just been used.
 */
template <bool kept, int rows, int columns>
GM_DEVICE void warp_multiply(float (&sum)[rows][columns], float *of_a, const float (&of_b)[columns],
                             int k, const float *next_a)
{
#pragma unroll
    for (int i = 0; i < rows; i++) {
        const float of_row = of_a[kept ? 4 * i + k % 4 : k % 2 * rows + i];
#pragma unroll
        for (int n = 0; n < columns; n++) {
            const int to = banks_nth<columns>(i, n, kept ? k % 2 : 0, kept ? k % 2 : 1);
            sum[i][to] += of_row * of_b[to ^ 1];
        }
        if (kept && k % 4 == 3) {
            warp_read_steps(of_a, next_a, i);
        }
    }
}

/* The thread's sums begin as zeros, which are in shared memory. */
template <int rows, int columns>
GM_DEVICE void warp_begin(float (&sum)[rows][columns], const float4 *zeros)
{
#pragma unroll
    for (int i = 0; i < rows * columns; i += 4) {
        banks_take_quad(&sum[i / columns][i % columns], zeros);
    }
}

#endif
