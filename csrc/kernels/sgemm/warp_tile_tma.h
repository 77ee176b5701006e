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
    WARP_TILE_TMA_DEPTH = 32, /* steps of the sum per stage */
    WARP_TILE_TMA_BOX = 8,    /* of them in a box of A: 32 bytes of each row */
    WARP_TILE_TMA_STAGES = 3,
    WARP_TILE_TMA_THREADS = 128,
    WARP_TILE_TMA_BYTES = WARP_TILE_TMA_STAGES * WARP_TILE_TMA_DEPTH *
                          (WARP_TILE_TMA_HEIGHT + WARP_TILE_TMA_WIDTH) * 4,
};

#ifdef __cplusplus
#include "tensor.h"
#include "warp.h"

/*
 * A warp has 32 rows and 128 columns, a thread every fourth row and four columns of every 32. A
 * lies along the depth, in boxes of eight steps: as many as fill the banks, see warp.h.
 */
enum {
    TMA_ROWS = 8,
    TMA_COLUMNS = 16,
    TMA_WARP_ROWS = TMA_ROWS * WARP_LANES_Y,
    TMA_WARP_COLUMNS = TMA_COLUMNS * WARP_LANES_X,
};
static_assert((int)WARP_TILE_TMA_BOX == (int)WARP_STEPS, "a box is what a thread walks through");

template <int height, int width, int stages> struct tma_tile {
    enum {
        depth = WARP_TILE_TMA_DEPTH,
        boxes = depth / WARP_STEPS,
        box = height * WARP_STEPS, /* floats, of A and of as many steps of B */
        floats_a = height * depth,
        floats_b = width * depth,
        stage = floats_a + floats_b,
        warps_x = width / TMA_WARP_COLUMNS,
        threads = warps_x * (height / TMA_WARP_ROWS) * 32,
    };
};

template <int height, int width, int stages>
GM_DEVICE void tma_load(const sgemm_engine_args &a, float *shared, gm_mbarrier *full, int64_t row,
                        int64_t column, int number, int slot)
{
    typedef tma_tile<height, width, stages> tile;
    float *to = shared + slot * tile::stage;
    const int depth = number * tile::depth;
    gm_mbarrier_expect(&full[slot], tile::stage * 4);
#pragma unroll
    for (int box = 0; box < tile::boxes; box++) {
        gm_tensor_load(to + box * tile::box, &a.a, depth + box * WARP_STEPS, (int)row, &full[slot]);
    }
    gm_tensor_load(to + tile::floats_a, &a.b, (int)column, depth, &full[slot]);
}

template <int height, int width, int stages>
GM_DEVICE void tma_sum(float (&sum)[TMA_ROWS][TMA_COLUMNS], const sgemm_engine_args &a,
                       float *shared, gm_mbarrier *full, int64_t row, int64_t column, int first,
                       int count, int at_a, int at_b)
{
    typedef tma_tile<height, width, stages> tile;
    float of_a[4 * TMA_ROWS], of_b[2][TMA_COLUMNS];
    const float *step_a = shared + at_a, *step_b = shared + at_b;
    int slot = 0, now = 0; /* bytes from the first box to the one in use, of A as of B */
    uint32_t parity = 0;
    static_assert(height == width, "boxes of one size");

    gm_mbarrier_wait(&full[0], 0);
#pragma unroll
    for (int i = 0; i < TMA_ROWS; i++) {
        warp_read_steps(of_a, step_a, i);
    }
    warp_read<TMA_COLUMNS, WARP_LANES_X>(of_b[0], step_b);

    for (int t = 0; t < count; t++) {
        const int next = slot + 1 == stages ? 0 : slot + 1;
        const uint32_t next_parity = next == 0 ? parity ^ 1 : parity;
#pragma unroll 1
        for (int box = tile::boxes; box > 0; box--) {
#pragma unroll
            for (int k = 0; k < WARP_STEPS; k++) {
                const int then = (k + 1) % WARP_STEPS;
                if (then == 0) {
                    if (box > 1) {
                        now += tile::box * 4;
                    } else if (t + 1 < count) { /* else the last is read again, for nothing */
                        gm_mbarrier_wait(&full[next], next_parity);
                        now = next * tile::stage * 4;
                    }
                    step_a = (const float *)((const char *)(shared + at_a) + now);
                    step_b = (const float *)((const char *)(shared + at_b) + now);
                }
                warp_read<TMA_COLUMNS, WARP_LANES_X>(of_b[(k + 1) % 2], step_b + then * width);
                warp_multiply<true>(sum, of_a, of_b[k % 2], k, step_a + then);
            }
        }
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
    const int warp = threadIdx.x / 32;
    const int y = warp / tile::warps_x * TMA_WARP_ROWS + warp_lane_y();
    const int x = warp % tile::warps_x * TMA_WARP_COLUMNS + warp_lane_x() * 4;
    const engine_share share = engine_find_share(a, tile::depth);
    const int first = (int)share.first, count = (int)share.count; /* the engine counts in 32 bits */
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
    warp_begin(sum, &zeros);
    if (count > 0) {
        tma_sum<height, width, stages>(sum, a, shared, full, row, column, first, count,
                                       y * WARP_STEPS, tile::floats_a + x);
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
            sgemm_store4(product, row + i * WARP_LANES_Y, column + j * WARP_LANES_X, in_order);
        }
    }
}
#endif

#endif
