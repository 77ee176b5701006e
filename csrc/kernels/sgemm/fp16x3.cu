/*
 * sgemm / fp16x3: FP32 accuracy on the tensor cores, at their rate for halves.
 *
 * Follows  tf32x3.
 * Idea     the tensor cores multiply halves at twice the rate of TF32 numbers, which have as many
 *          bits, but more exponents. So each row of A and column of B is scaled, and split into a
 *          high and a low half by kernels of their own (see halves.h): x y = xh yh + xh yl + xl yh.
 * Check    numbers far below the largest of their line lose bits. The kernels that split count
 *          them, and one decides on the device: where they may matter, this kernel ends at once,
 *          and those of tf32x3, or of warp_tile_tma for sums of less than 2048 terms, compute the
 *          product. They are launched in any case, and end at once if it is not their turn.
 * Sum      the tensor cores do not round to nearest: their error grows with the length of a sum.
 *          Each 64 steps start from 0, and are added up in registers, in FP32. Low halves are 2^11
 *          times too large: their products come first, and are scaled before the others are added.
 * Turns    while one warp group scales or adds, the other one's products keep the tensor cores
 *          busy, if both do not scale at the same time: they take turns at starting products.
 * Blocks   each computes one tile after the other. Its next stages are loaded while it stores.
 * Machine  UTMALDG.2D, HGMMA.64x192x16.F32
 *
 * A block computes 128 x 192 of C, in stages of 32 steps, with three warp groups of 128 threads:
 *
 *     group 0   one thread requests the halves of A and B from the copy engine
 *     group 1   rows  0-63 of C: multiplies, adds up, stores
 *     group 2   rows 64-127
 *
 * There is a ring of five stages, each with two barriers: full (the halves have arrived) and empty
 * (both groups have multiplied). A line of a stage has 128 bytes:
 *
 *     halves    0-15 high   16-31 high   0-15 low   16-31 low     a product takes 16 steps
 *
 *     tensor cores   | 1: low products | 2: low | 1: high | 2: high | 1: low ...
 *     group 1                          | scale  |         | add up  |
 *     group 2        | add up          |        | scale   |         | add up
 */
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

/* ---- load ------------------------------------------------------------------------------------ */

/* One thread: requests the stages of all tiles of the block, as slots become empty. */
GM_DEVICE void load_tiles(const sgemm_engine_args &a, const ring &r, const engine_share &share)
{
    const unsigned tiles = (unsigned)(a.product.tiles_x * a.product.tiles_y);
    const int stages = count_stages(share), first = (int)share.first * FP16X3_TOGETHER;
    place at = {0, 1};
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int64_t row, column;
        sgemm_find_tile(a.product, tile, FP16X3_HEIGHT, FP16X3_WIDTH, &row, &column);
#pragma unroll 1
        for (int t = first; t < first + stages; t++) {
            gm_mbarrier *full = &r.full[at.slot];
            stage *to = &r.stages[at.slot];
            gm_mbarrier_wait(&r.empty[at.slot], at.parity);
            gm_mbarrier_expect(full, sizeof(stage));
            gm_tensor_load(to->a, &a.a, t * geometry::line, (int)row, full);
            gm_tensor_load(to->b, &a.b, t * geometry::line, (int)column, full);
            advance(at);
        }
    }
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

/* Adds 64 steps to the sums. */
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
    if (threadIdx.x % 128 == 0) {
#pragma unroll
        for (int i = 0; i < FP16X3_TOGETHER; i++) {
            gm_mbarrier_arrive(&r.empty[slots[i]]);
        }
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
            add_product(r, group, at, part, sum);
        }
        store_sums(product, a, row, column, sum);
    }
}

#endif

GM_KERNEL_BOUNDED(sgemm_fp16x3, sgemm_fp16x3_args, FP16X3_THREADS, 1)
{
#if GM_HAS_WGMMA
    GM_DYNAMIC_SHARED(stage, stages);
    gm_mbarrier *barriers = (gm_mbarrier *)(stages + FP16X3_STAGES);
    const ring r = {stages, barriers, barriers + FP16X3_STAGES};
    const engine_share share = engine_find_share(a.engine, FP16X3_DEPTH);

    if (threadIdx.x == 0) {
        for (int slot = 0; slot < FP16X3_STAGES; slot++) {
            gm_mbarrier_init_count(&r.full[slot], 1);
            gm_mbarrier_init_count(&r.empty[slot], 2);
        }
    }
    gm_wait_for_previous();
    if (!engine_is_turn(a.engine.turn)) {
        return;
    }
    __syncthreads();
    if (threadIdx.x < geometry::producers) {
        gm_fewer_registers<40>();
        if (threadIdx.x == 0) {
            load_tiles(a.engine, r, share);
        }
    } else {
        gm_more_registers<232>();
        multiply(a, r, share);
    }
#else
    (void)a; /* the row names the one target that has these instructions */
#endif
}
