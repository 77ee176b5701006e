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

/* ---- edges ----------------------------------------------------------------------------------- */

/*
 * At the edge of the matrix the rows that exist are shared out among the warps of the tile, and
 * columns that do not exist are left out, 32 at a time: a tile costs about what it has inside.
 * These are the rows and columns of a thread that are, or may be.
 */
typedef struct warp_part {
    int rows, columns;
} warp_part;

/* left: rows and columns of the matrix from the tile's first on. Rows come in twos, or in fours
 * where they are read as vectors. */
template <typename tile>
GM_DEVICE warp_part warp_find_part(int64_t rows_left, int64_t columns_left, bool kept)
{
    constexpr int warps = tile::height / tile::warp_rows, lanes_x = WARP_LANES_X * 4;
    const int unit = kept ? 2 : 4, of_all = warps * WARP_LANES_Y * unit;
    const int rows = (int)min(rows_left, (int64_t)tile::height);
    const int columns = (int)min(columns_left, (int64_t)tile::width);
    static_assert(tile::warps_x == 1, "warps are below one another");
    warp_part part;
    part.rows = (rows + of_all - 1) / of_all * unit;
    part.columns = (columns + lanes_x - 1) / lanes_x * 4;
    return part;
}

/* The same as a type: loops over columns are unrolled, and if all rows are inside nobody asks. */
template <int columns_, bool some_rows_> struct warp_inside {
    static constexpr int columns = columns_;
    static constexpr bool some_rows = some_rows_;
    int rows;
};

template <int columns, typename function>
GM_DEVICE void warp_of_columns(const warp_part &part, const function &sum_up)
{
    if constexpr (columns > 4) {
        if (part.columns < columns) {
            warp_of_columns<columns - 4>(part, sum_up);
            return;
        }
    }
    sum_up(warp_inside<columns, true>{part.rows});
}

/* Calls sum_up with a part as a type. */
template <typename tile, typename function>
GM_DEVICE void warp_of_part(const warp_part &part, const function &sum_up)
{
    if (part.rows == tile::rows && part.columns == tile::columns) {
        sum_up(warp_inside<tile::columns, false>{tile::rows});
    } else {
        warp_of_columns<tile::columns>(part, sum_up);
    }
}

/* ---- a step of the sum ----------------------------------------------------------------------- */

/*
 * The products of step k of eight. of_a holds four steps of each row where A is kept, else the rows
 * of an even and of an odd step. Where A is kept, the fourth step reads the next four of each row
 * into the registers that it has just used.
 */
template <bool kept, typename inside_type, int rows, int columns>
GM_DEVICE void warp_multiply(float (&sum)[rows][columns], float *of_a, const float (&of_b)[columns],
                             int k, const float *next_a, const inside_type &inside)
{
#pragma unroll
    for (int i = 0; i < rows; i++) {
        const float of_row = of_a[kept ? 4 * i + k % 4 : k % 2 * rows + i];
        if (inside_type::some_rows && i % 2 == 0 && i >= inside.rows) {
            break;
        }
#pragma unroll
        for (int n = 0; n < inside_type::columns; n++) {
            const int to =
                banks_nth<inside_type::columns>(i, n, kept ? k % 2 : 0, kept ? k % 2 : 1);
            sum[i][to] += of_row * of_b[to ^ 1];
        }
        if (kept && k % 4 == 3) {
            warp_read_steps(of_a, next_a, i);
        }
    }
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

/*
 * Writes a thread's sums to C, from its first row and column on, of so many rows. own: a place in
 * shared memory that no other thread uses.
 */
template <int rows, int columns>
GM_DEVICE void warp_store(const sgemm_args &a, int64_t row, int64_t column, bool kept,
                          const float (&sum)[rows][columns], float4 *own, int rows_inside)
{
#pragma unroll
    for (int i = 0; i < rows; i++) {
        const int down = kept ? i * WARP_LANES_Y : i / 4 * (WARP_LANES_Y * 4) + i % 4;
        if (i >= rows_inside) {
            break;
        }
#pragma unroll
        for (int j = 0; j < columns; j += 4) {
            float in_order[4];
            banks_in_order(in_order, &sum[i][j], own);
            sgemm_store4(a, row + down, column + j * WARP_LANES_X, in_order);
        }
    }
}

#endif
