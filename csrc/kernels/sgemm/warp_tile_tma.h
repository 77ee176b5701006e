/*
 * A product by tiles that the tensor copy engine brings: its sizes, and its body for any size of a
 * block's tile.
 */
#ifndef GPUMEM_SGEMM_WARP_TILE_TMA_H
#define GPUMEM_SGEMM_WARP_TILE_TMA_H

#include "sgemm/engine.h"

enum {
    WARP_TILE_TMA_HEIGHT = 128, /* rows and columns of C per block */
    WARP_TILE_TMA_WIDTH = 128,
    WARP_TILE_TMA_DEPTH = 32, /* steps of the sum per stage: 128 bytes of a row of A */
    WARP_TILE_TMA_STAGES = 3,
    WARP_TILE_TMA_THREADS = 128,
    WARP_TILE_TMA_BYTES = WARP_TILE_TMA_STAGES * WARP_TILE_TMA_DEPTH *
                          (WARP_TILE_TMA_HEIGHT + WARP_TILE_TMA_WIDTH) * 4,
};

#ifdef __cplusplus
#include "banks.h"
#include "tensor.h"

/*
 * A warp has 32 rows and 128 columns, 4 x 8 lanes with 8 rows and 16 columns each: every fourth
 * row, and four columns of every 32.
 *
 * A lies as its rows do, along the depth: a thread reads four steps of a row at once. The engine
 * keeps piece p (16 bytes) of row r at place p ^ r % 8; a thread's rows are 4 apart, so that they
 * know two such places, and those of the lanes differ.
 */
enum {
    TMA_ROWS = 8,
    TMA_COLUMNS = 16,
    TMA_LANES_Y = 4,
    TMA_LANES_X = 8,
    TMA_WARP_ROWS = TMA_ROWS * TMA_LANES_Y,
    TMA_WARP_COLUMNS = TMA_COLUMNS * TMA_LANES_X,
};

template <int height, int width, int stages> struct tma_tile {
    enum {
        depth = 32,
        floats_a = height * depth,
        floats_b = width * depth,
        stage = floats_a + floats_b,
        warps_x = width / TMA_WARP_COLUMNS,
        threads = warps_x * (height / TMA_WARP_ROWS) * 32,
    };
};

template <int height, int width, int stages>
GM_DEVICE void tma_load(const sgemm_engine_args &a, float *shared, gm_mbarrier *full, int64_t row,
                        int64_t column, int64_t number, int slot)
{
    typedef tma_tile<height, width, stages> tile;
    float *to = shared + slot * tile::stage;
    const int depth = (int)(number * tile::depth);
    gm_mbarrier_expect(&full[slot], tile::stage * 4);
    gm_tensor_load(to, &a.a, depth, (int)row, &full[slot]);
    gm_tensor_load(to + tile::floats_a, &a.b, (int)column, depth, &full[slot]);
}

/* Where a thread's even and odd rows of A have four steps of the sum. */
typedef struct tma_rows {
    const float *even, *odd;
} tma_rows;

GM_DEVICE tma_rows tma_rows_at(const float *base, int group, int lane_y)
{
    const int piece = (group ^ lane_y) * 4;
    const tma_rows at = {base + piece, base + (piece ^ 16)};
    return at;
}

GM_DEVICE float4 tma_read_a(const tma_rows &at, int i)
{
    return *(const float4 *)((i % 2 ? at.odd : at.even) + i * (TMA_LANES_Y * 32));
}

template <int width> GM_DEVICE void tma_read_b(float (&held)[TMA_COLUMNS], const float *from)
{
#pragma unroll
    for (int j = 0; j < TMA_COLUMNS; j += 4) {
        const float4 four = *(const float4 *)(from + j * TMA_LANES_X);
        held[j + 0] = four.x, held[j + 1] = four.y, held[j + 2] = four.z, held[j + 3] = four.w;
    }
}

GM_DEVICE float tma_step(const float4 &four, int k)
{
    return k == 0 ? four.x : k == 1 ? four.y : k == 2 ? four.z : four.w;
}

/* Four steps. While one is computed the next is read: of B into the other half, and of A, in the
 * last step, row by row into the registers that have just been used. */
template <int width, bool ends>
GM_DEVICE void tma_steps(float (&sum)[TMA_ROWS][TMA_COLUMNS], float4 (&of_a)[TMA_ROWS],
                         float (&of_b)[2][TMA_COLUMNS], const tma_rows &next_a, const float *b,
                         const float *next_b, gm_mbarrier *next, uint32_t parity)
{
#pragma unroll
    for (int k = 0; k < 4; k++) {
        if (ends && k == 3 && next) {
            gm_mbarrier_wait(next, parity);
        }
        tma_read_b<width>(of_b[(k + 1) % 2], k == 3 ? next_b : b + (k + 1) * width);
#pragma unroll
        for (int i = 0; i < TMA_ROWS; i++) {
            const float x = tma_step(of_a[i], k);
#pragma unroll
            for (int n = 0; n < TMA_COLUMNS; n++) {
                const int to = banks_nth<TMA_COLUMNS>(i, n, k % 2, k % 2);
                sum[i][to] += x * of_b[k % 2][to ^ 1];
            }
            if (k == 3) {
                of_a[i] = tma_read_a(next_a, i);
            }
        }
    }
}

template <int height, int width, int stages>
GM_DEVICE void tma_sum(float (&sum)[TMA_ROWS][TMA_COLUMNS], const sgemm_engine_args &a,
                       float *shared, gm_mbarrier *full, int64_t row, int64_t column, int64_t first,
                       int64_t count, int at_a, int at_b, int lane_y)
{
    typedef tma_tile<height, width, stages> tile;
    enum { groups = tile::depth / 4 };
    float4 of_a[TMA_ROWS];
    float of_b[2][TMA_COLUMNS];
    int slot = 0;
    uint32_t parity = 0;

    gm_mbarrier_wait(&full[0], 0);
    const tma_rows begin = tma_rows_at(shared + at_a, 0, lane_y);
#pragma unroll
    for (int i = 0; i < TMA_ROWS; i++) {
        of_a[i] = tma_read_a(begin, i);
    }
    tma_read_b<width>(of_b[0], shared + tile::floats_a + at_b);

    for (int64_t t = 0; t < count; t++) {
        const int next = slot + 1 == stages ? 0 : slot + 1;
        const uint32_t next_parity = next == 0 ? parity ^ 1 : parity;
        const float *here = shared + slot * tile::stage;
        /* After the last stage this reads the same once more, for nothing. */
        const float *there = t + 1 < count ? shared + next * tile::stage : here;
        const float *b = here + tile::floats_a + at_b;
#pragma unroll 1
        for (int g = 0; g < groups - 2; g += 2, b += 8 * width) {
            tma_steps<width, false>(sum, of_a, of_b, tma_rows_at(here + at_a, g + 1, lane_y), b,
                                    b + 4 * width, NULL, 0);
            tma_steps<width, false>(sum, of_a, of_b, tma_rows_at(here + at_a, g + 2, lane_y),
                                    b + 4 * width, b + 8 * width, NULL, 0);
        }
        tma_steps<width, false>(sum, of_a, of_b, tma_rows_at(here + at_a, groups - 1, lane_y), b,
                                b + 4 * width, NULL, 0);
        tma_steps<width, true>(sum, of_a, of_b, tma_rows_at(there + at_a, 0, lane_y), b + 4 * width,
                               there + tile::floats_a + at_b, t + 1 < count ? &full[next] : NULL,
                               next_parity);
        __syncthreads(); /* all have read the stage: it may be filled again */
        if (threadIdx.x == 0 && t + stages < count) {
            tma_load<height, width, stages>(a, shared, full, row, column, first + t + stages, slot);
        }
        slot = next;
        parity = next_parity;
    }
}

template <int height, int width, int stages>
GM_DEVICE void tma_product(const sgemm_engine_args &a, float *shared, gm_mbarrier *full)
{
    typedef tma_tile<height, width, stages> tile;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    /* The halves of a warp have two rows of lanes each: see warp_tile. */
    const int lane_x = lane / 2 % 8, lane_y = lane / 16 * 2 + lane % 2;
    const int y = warp / tile::warps_x * TMA_WARP_ROWS + lane_y;
    const int x = warp % tile::warps_x * TMA_WARP_COLUMNS + lane_x * 4;
    const engine_share share = engine_find_share(a, tile::depth);
    const int64_t first = share.first, count = share.count;
    float sum[TMA_ROWS][TMA_COLUMNS];
    float4 *own = (float4 *)shared + threadIdx.x; /* after the last stage */
    __shared__ float4 zeros;
    int64_t row, column;

    sgemm_find_tile(a.product, height, width, &row, &column);
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < stages; slot++) {
            gm_mbarrier_init(&full[slot]);
        }
    }
    gm_wait_for_previous();
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < stages && slot < count; slot++) {
            tma_load<height, width, stages>(a, shared, full, row, column, first + slot, slot);
        }
    }
    if (threadIdx.x == 32) {
        zeros = make_float4(0, 0, 0, 0);
    }
    __syncthreads(); /* the barriers and the zeros are there */
#pragma unroll
    for (int i = 0; i < TMA_ROWS * TMA_COLUMNS; i += 4) {
        banks_take_quad(&sum[i / TMA_COLUMNS][i % TMA_COLUMNS], &zeros);
    }
    if (count > 0) {
        tma_sum<height, width, stages>(sum, a, shared, full, row, column, first, count, y * 32, x,
                                       lane_y);
    }
    const sgemm_args product = engine_product(a, share, tile::depth);
    row += y;
    column += x;
#pragma unroll
    for (int i = 0; i < TMA_ROWS; i++) {
#pragma unroll
        for (int j = 0; j < TMA_COLUMNS; j += 4) {
            float in_order[4];
            banks_in_order(in_order, &sum[i][j], own);
            sgemm_store4(product, row + i * TMA_LANES_Y, column + j * TMA_LANES_X, in_order);
        }
    }
}
#endif

#endif
