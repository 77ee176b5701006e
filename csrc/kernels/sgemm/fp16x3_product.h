/*
 * What the warp groups of fp16x3 and fp16x3_multicast do that multiply, and the stages they read.
 * The two differ in who loads a stage, and in who is told that it may be filled again.
 */
#ifndef GPUMEM_SGEMM_FP16X3_PRODUCT_H
#define GPUMEM_SGEMM_FP16X3_PRODUCT_H

#include "fp16x3.h"
#include "tensor.h"
#include "wgmma.h"

#if GM_HAS_WGMMA

struct geometry {
    static constexpr int producers = 128;   /* threads of the first warp group */
    static constexpr int group_rows = 64;   /* of C */
    static constexpr int line = FP16X3_BOX; /* halves */
    static constexpr int sums = group_rows * FP16X3_WIDTH / 128; /* of a thread */
};

typedef struct stage {
    uint16_t a[FP16X3_HEIGHT * geometry::line], b[FP16X3_WIDTH * geometry::line];
} stage;

typedef struct ring {
    stage *stages;
    gm_mbarrier *full, *empty;
} ring;

/* A stage of the ring, and the parity of the phase in which it is used next. */
typedef struct place {
    int slot;
    uint32_t parity;
} place;

GM_DEVICE void advance(place &at)
{
    at.slot++;
    if (at.slot == FP16X3_STAGES) {
        at.slot = 0;
        at.parity ^= 1;
    }
}

/* Stages of a share: for whole sums of the tensor cores. Past the depth the engine loads zeros. */
GM_DEVICE int count_stages(const engine_share &share)
{
    return (int)share.count * FP16X3_TOGETHER;
}

/* ---- multiply -------------------------------------------------------------------------------- */

/* The group's turn at starting products; afterwards it is the other one's. Its first turn is given
 * to group 1 by group 2. */
GM_DEVICE void await_turn(int group)
{
    gm_barrier_sync(group, 256);
}

GM_DEVICE void give_turn(int group)
{
    gm_barrier_arrive(3 - group, 256);
}

/* The halves of a stage that a group multiplies: 16 steps are 32 bytes, 2 in these units. */
typedef struct operands {
    uint64_t a, b;
} operands;

enum { NEXT_STEPS = 2, LOW = 4 };

GM_DEVICE operands describe(const ring &r, int slot, int group)
{
    const stage &from = r.stages[slot];
    const operands found = {
        gm_wgmma_describe(from.a + (group - 1) * geometry::group_rows * geometry::line),
        gm_wgmma_describe(from.b)};
    return found;
}

/* What tells the producers that a group has multiplied a stage; all threads of the group call it.
 */
typedef void (*releaser)(const ring &r, int slot);

/* Adds 64 steps to the sums. */
template <releaser release>
GM_DEVICE void add_product(const ring &r, int group, place &at, float (&part)[geometry::sums],
                           float (&sum)[geometry::sums])
{
    int slots[FP16X3_TOGETHER];

    await_turn(group);
    gm_wgmma_hold(part);
#pragma unroll
    for (int i = 0; i < FP16X3_TOGETHER; i++) {
        slots[i] = at.slot;
        gm_mbarrier_wait(&r.full[at.slot], at.parity);
        const operands x = describe(r, at.slot, group);
        gm_wgmma_fence();
        gm_wgmma_half(part, x.a + LOW, x.b, i > 0);
        gm_wgmma_half(part, x.a + LOW + NEXT_STEPS, x.b + NEXT_STEPS, 1);
        gm_wgmma_half(part, x.a, x.b + LOW, 1);
        gm_wgmma_half(part, x.a + NEXT_STEPS, x.b + LOW + NEXT_STEPS, 1);
        advance(at);
    }
    gm_wgmma_commit();
    give_turn(group);
    gm_wgmma_wait<0>();
    gm_wgmma_hold(part);
#pragma unroll
    for (int i = 0; i < geometry::sums; i++) {
        part[i] *= 1.0f / HALVES_LOW;
    }
    gm_wgmma_hold(part);

    await_turn(group);
    gm_wgmma_fence();
#pragma unroll
    for (int i = 0; i < FP16X3_TOGETHER; i++) {
        const operands x = describe(r, slots[i], group);
        gm_wgmma_half(part, x.a, x.b, 1);
        gm_wgmma_half(part, x.a + NEXT_STEPS, x.b + NEXT_STEPS, 1);
    }
    gm_wgmma_commit();
    give_turn(group);
    gm_wgmma_wait<0>();
    gm_wgmma_hold(part);
#pragma unroll
    for (int i = 0; i < FP16X3_TOGETHER; i++) {
        release(r, slots[i]);
    }
#pragma unroll
    for (int i = 0; i < geometry::sums; i++) {
        sum[i] += part[i];
    }
}

/* ---- store ----------------------------------------------------------------------------------- */

/* A sum without the scales of its row and column, in two steps: one power may be too small for a
 * float. Under 2^-252 any sum is 0. */
GM_DEVICE float unscale(float sum, int scale)
{
    const int exponent = max(-scale, -252), half = exponent / 2;
    return sum * halves_power(half) * halves_power(exponent - half);
}

GM_DEVICE int scale_of(const int *scales, int64_t line, int64_t lines)
{
    return line < lines ? scales[line] : 0;
}

GM_DEVICE void store_sums(const sgemm_args &p, const sgemm_fp16x3_args &a, int64_t row,
                          int64_t column, const float (&sum)[geometry::sums])
{
    const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const int64_t first = row + (group - 1) * geometry::group_rows + warp * 16 + lane / 4;
    const int upper = scale_of(a.scales_a, first, p.a.lines);
    const int lower = scale_of(a.scales_a, first + 8, p.a.lines);
#pragma unroll
    for (int i = 0; i < geometry::sums / 4; i++) {
        const int64_t at = column + 8 * i + lane % 4 * 2;
        const int left = scale_of(a.scales_b, at, p.b.lines);
        const int right = scale_of(a.scales_b, at + 1, p.b.lines);
        sgemm_store2(p, first, at, unscale(sum[4 * i], upper + left),
                     unscale(sum[4 * i + 1], upper + right));
        sgemm_store2(p, first + 8, at, unscale(sum[4 * i + 2], lower + left),
                     unscale(sum[4 * i + 3], lower + right));
    }
}

/* A warp group: its rows of all tiles of the block. */
template <releaser release>
GM_DEVICE void multiply(const sgemm_fp16x3_args &a, const ring &r, const engine_share &share)
{
    const unsigned tiles = (unsigned)(a.engine.product.tiles_x * a.engine.product.tiles_y);
    const int group = threadIdx.x / 128;
    const sgemm_args product = engine_product(a.engine, share, FP16X3_DEPTH);
    float sum[geometry::sums], part[geometry::sums];
    place at = {0, 0};
    if (group == 2) {
        give_turn(group);
    }
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int64_t row, column;
        sgemm_find_tile(a.engine.product, tile, FP16X3_HEIGHT, FP16X3_WIDTH, &row, &column);
#pragma unroll
        for (int i = 0; i < geometry::sums; i++) {
            sum[i] = 0;
            part[i] = 0;
        }
        for (int64_t t = 0; t < share.count; t++) {
            add_product<release>(r, group, at, part, sum);
        }
        store_sums(product, a, row, column, sum);
    }
}

#endif

#endif
