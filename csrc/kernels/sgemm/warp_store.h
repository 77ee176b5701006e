/*
 * How a tile of warps is written to C: alpha * sums + beta * C.
 *
 * A block runs this code once. What it costs is above all that its instructions have to be fetched,
 * and a jump to a far place waits for them: with a branch for each vector, of which most of the
 * code was never run, small products took a tenth longer. Hence two ways without such branches:
 *
 *     straight from the registers     where C has whole, aligned vectors and beta is 0: the eight
 *                                     lanes of a row store 128 contiguous bytes
 *     eight rows at a time            through shared memory of the warp's own, so that its lanes
 *                                     store, and load, neighbours wherever rows begin
 */
#ifndef GPUMEM_SGEMM_WARP_STORE_H
#define GPUMEM_SGEMM_WARP_STORE_H

#include "warp.h"

enum { WARP_STORE_ROWS = 8 }; /* of a pass, of all lanes: two of each thread */

/* The floats that a warp needs. The halves of every 32 columns change places in odd rows: so the
 * two rows that are written at once fill the banks. */
template <int columns> struct warp_store_room {
    static constexpr int pitch = columns * WARP_LANES_X, floats = WARP_STORE_ROWS * pitch;
};

GM_DEVICE int warp_store_column(int row, int column)
{
    return column ^ row % 2 * 16;
}

/* Is C such that warps may store vectors? */
GM_DEVICE bool warp_store_takes_vectors(const sgemm_args &a)
{
    return a.out_vectors && a.b.lines % 4 == 0 && a.beta == 0.0f;
}

/* row, column: the warp's first. own: four floats of shared memory that no other thread uses. */
template <bool kept, int rows, int columns>
GM_DEVICE void warp_store_vectors(const sgemm_args &a, int64_t row, int64_t column,
                                  const float (&sum)[rows][columns], float4 *own)
{
    const int64_t first = row + warp_lane_y() * (kept ? 1 : 4);
    const int left = (int)min(a.a.lines - first, (int64_t)rows * WARP_LANES_Y);
    const int64_t columns_left = a.b.lines - column - warp_lane_x() * 4;
    float *const to = a.out + first * a.out_stride + column + warp_lane_x() * 4;
#pragma unroll
    for (int i = 0; i < rows; i++) {
        const int down = kept ? i * WARP_LANES_Y : i / 4 * (WARP_LANES_Y * 4) + i % 4;
#pragma unroll
        for (int j = 0; j < columns; j += 4) {
            float four[4];
            banks_in_order(four, &sum[i][j], own);
            if (down < left && j * WARP_LANES_X < columns_left) {
                sgemm_store_at(to + down * a.out_stride + j * WARP_LANES_X,
                               make_float4(a.alpha * four[0], a.alpha * four[1], a.alpha * four[2],
                                           a.alpha * four[3]));
            }
        }
    }
}

/* The row in the warp's tile of row `r` of the eight of a pass. */
template <bool kept> GM_DEVICE int warp_store_row(int pass, int r)
{
    return kept ? pass * WARP_STORE_ROWS + r : pass / 2 * 16 + r % 4 * 4 + pass % 2 * 2 + r / 4;
}

/* The eight rows of a pass, from shared memory, where neighbours have changed places, see banks.h:
 * four at a time, all of which are read before the first is written. */
template <bool kept, int columns>
GM_DEVICE void warp_store_pass(const sgemm_args &a, int64_t row, int64_t column, int pass,
                               const float *of_warp)
{
    constexpr int ROWS = 4, across = columns * WARP_LANES_X / 32;
    const int lane = threadIdx.x % 32;
    const int rows_left = (int)min(a.a.lines - row, (int64_t)32);
    const int columns_left = (int)min(a.b.lines - column, (int64_t)across * 32) - lane;
    float *to = a.out + row * a.out_stride + column + lane;
    gm_settle(to);
#pragma unroll 1
    for (int r = 0; r < WARP_STORE_ROWS; r += ROWS) {
        float held[ROWS][across];
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            const int down = warp_store_row<kept>(pass, r + i);
#pragma unroll
            for (int j = 0; j < across; j++) {
                held[i][j] = a.alpha * of_warp[(r + i) * warp_store_room<columns>::pitch + j * 32 +
                                               warp_store_column(i, lane ^ 1)];
                if (a.beta != 0.0f && down < rows_left && j * 32 < columns_left) {
                    held[i][j] +=
                        a.beta *
                        a.c[(row + down) * a.c_stride + (column + lane + j * 32) * a.c_step];
                }
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            const int down = warp_store_row<kept>(pass, r + i);
            float *const line = to + (unsigned)down * a.out_stride;
#pragma unroll
            for (int j = 0; j < across; j++) {
                if (down < rows_left && j * 32 < columns_left) {
                    sgemm_store_at(line + j * 32, held[i][j]);
                }
            }
        }
    }
}

/* A warp writes its tile, whose first row and column these are. of_warp: shared memory of its own,
 * see warp_store_room. */
template <bool kept, int rows, int columns>
GM_DEVICE void warp_store(const sgemm_args &a, int64_t row, int64_t column,
                          const float (&sum)[rows][columns], float *of_warp)
{
    constexpr int pitch = warp_store_room<columns>::pitch;
    static_assert(rows * WARP_LANES_Y == 32, "as many as a pass counts");
    if (warp_store_takes_vectors(a)) {
        warp_store_vectors<kept>(a, row, column, sum, (float4 *)of_warp + threadIdx.x % 32);
        return;
    }
    float *const own =
        of_warp + warp_lane_y() * pitch + warp_store_column(warp_lane_y(), warp_lane_x() * 4);
#pragma unroll
    for (int pass = 0; pass < rows / 2; pass++) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
#pragma unroll
            for (int j = 0; j < columns; j += 4) {
                banks_leave_quad(&sum[pass * 2 + i][j],
                                 (float4 *)(own + i * 4 * pitch + j * WARP_LANES_X));
            }
        }
        __syncwarp();
        warp_store_pass<kept, columns>(a, row, column, pass, of_warp);
        __syncwarp();
    }
}

#endif
