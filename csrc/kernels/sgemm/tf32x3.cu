/*
 * sgemm / tf32x3: FP32 accuracy on the tensor cores of Hopper.
 *
 * Follows  warp_tile_tma.
 * Idea     a tensor core multiplies numbers of 11 bits. A float is one of these, high, and a rest,
 *          low, that is another: x y = xh yh + xh yl + xl yh, and what is left out is less than
 *          2^-21 of it. Three products on units that are seven times as fast.
 * Rounding the tensor cores cut off bits that they have no place for. So A's tile is its own high
 *          part, and only the low one has to be made and written. B is rounded to nearest: what
 *          is left out then has either sign, also where all numbers are positive.
 * Sum      the tensor cores do not round to nearest, so that their error grows with the length of
 *          a sum. Each 128 steps begin from 0, and are added up in registers, in FP32.
 * Roles    of one warp group, a warp has the copy engine fetch tiles, and the others split those of
 *          A. Two groups multiply; while the tensor cores do, each splits its part of the next tile
 *          of B. C is computed transposed: the operand in registers is B, for the one in shared
 *          memory has to run along the depth, and A's rows do.
 * Banks    a lane needs two columns of B at steps j and j + 4. Which columns a row of the product
 *          stands for is free: they are chosen so that half a warp's loads fill all 32 banks.
 * Special  high and low parts make NaN of an infinity. A sum that is not finite is computed again,
 *          in FP32, by the lanes of its warp.
 * Limits   rests below the smallest normal float are lost: numbers under 2^-113 have TF32's
 *          accuracy.
 * Machine  UTMALDG.2D, HGMMA.64x128x8.F32.TF32
 */
#include "tensor.h"
#include "tf32x3.h"
#include "wgmma.h"

#if GM_HAS_WGMMA

enum {
    PRODUCERS = 128, /* threads of the first warp group */
    SPLITTERS = 96,  /* all of its warps but the first */
    GROUP_COLUMNS = 64,
    TILE_FLOATS = TF32X3_TILE * TF32X3_DEPTH,
    BOX_FLOATS = TF32X3_BOX * TF32X3_DEPTH,
    TILE_BYTES = TILE_FLOATS * 4,
    TOGETHER = 4, /* tiles whose products the tensor cores add up, an even number */
};

typedef struct stage {
    float a[TILE_FLOATS], a_low[TILE_FLOATS], b[TILE_FLOATS];
} stage;

typedef struct ring {
    stage *stages;
    gm_mbarrier *full, *split, *empty;
} ring;

/* A number of TF32, as the tensor cores see a float. */
GM_DEVICE float cut_part(float x)
{
    return __uint_as_float(__float_as_uint(x) & 0xffffe000u);
}

/* The nearest number of TF32, by arithmetic of integers: conversions are four times as slow. */
GM_DEVICE float high_part(float x)
{
    return cut_part(__uint_as_float(__float_as_uint(x) + 0x1000u));
}

/* What that leaves of a float. It is cut as well, which is rounding with half a unit of the last
 * bit that stays added. */
GM_DEVICE float low_part(float x, float high)
{
    return __uint_as_float(__float_as_uint(x - high) + 0x1000u);
}

/* ---- loading and splitting ------------------------------------------------------------------- */

GM_DEVICE void load_stage(const sgemm_engine_args &a, const ring &r, int64_t row, int64_t column,
                          int64_t first, int64_t tile)
{
    const int slot = (int)(tile % TF32X3_STAGES), depth = (int)((first + tile) * TF32X3_DEPTH);
    stage *to = &r.stages[slot];
    gm_mbarrier_expect(&r.full[slot], 2 * TILE_BYTES);
    gm_tensor_load(to->a, &a.a, depth, (int)row, &r.full[slot]);
    for (int box = 0; box < TF32X3_TILE / TF32X3_BOX; box++) {
        gm_tensor_load(to->b + box * BOX_FLOATS, &a.b, (int)column + box * TF32X3_BOX, depth,
                       &r.full[slot]);
    }
}

/* One thread: tiles into slots, as they become empty. */
GM_DEVICE void load_tiles(const sgemm_engine_args &a, const ring &r, int64_t row, int64_t column,
                          const engine_share &share)
{
    for (int64_t t = 0; t < share.count; t++) {
        const int64_t round = t / TF32X3_STAGES;
        if (round > 0) {
            gm_mbarrier_wait(&r.empty[t % TF32X3_STAGES], (uint32_t)(round - 1 & 1));
        }
        load_stage(a, r, row, column, share.first, t);
    }
}

/* The low parts of A, beside it. */
GM_DEVICE void split_tiles(const ring &r, int64_t tiles)
{
    for (int64_t t = 0; t < tiles; t++) {
        const int slot = (int)(t % TF32X3_STAGES);
        const float4 *x = (const float4 *)r.stages[slot].a;
        float4 *low = (float4 *)r.stages[slot].a_low;
        gm_mbarrier_wait(&r.full[slot], (uint32_t)(t / TF32X3_STAGES & 1));
#pragma unroll 4
        for (int i = threadIdx.x - 32; i < TILE_FLOATS / 4; i += SPLITTERS) {
            const float4 v = x[i];
            low[i] = make_float4(low_part(v.x, cut_part(v.x)), low_part(v.y, cut_part(v.y)),
                                 low_part(v.z, cut_part(v.z)), low_part(v.w, cut_part(v.w)));
        }
        gm_tensor_fence(); /* the tensor cores will see it */
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            gm_mbarrier_arrive(&r.split[slot]);
        }
    }
}

/* ---- multiplying ------------------------------------------------------------------------------
 */

/* This thread's two columns of B, from the first of its warp group's 64: where they are in a box.
 */
GM_DEVICE int box_of(int warp)
{
    return warp / 2;
}

GM_DEVICE int chunk_of(int warp, int g) /* of four floats */
{
    return (g >> 1 & 1) << 2 | (warp & 1) << 1 | g >> 2;
}

GM_DEVICE int column_of(int warp, int g)
{
    return box_of(warp) * TF32X3_BOX + chunk_of(warp, g) * 4 + (g & 1) * 2;
}

/* A thread's part of a tile of B, for each 8 steps of the sum. */
typedef struct fragments {
    float high[TF32X3_DEPTH / 8][4], low[TF32X3_DEPTH / 8][4];
} fragments;

GM_DEVICE void load_fragments(const ring &r, int64_t tile, fragments &f)
{
    const int slot = (int)(tile % TF32X3_STAGES), group = threadIdx.x / 128 - 1;
    const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const int g = lane / 4, j = lane % 4, chunk = chunk_of(warp, g);
    const float *box = r.stages[slot].b + (g & 1) * 2 +
                       (group * (GROUP_COLUMNS / TF32X3_BOX) + box_of(warp)) * BOX_FLOATS;
    gm_mbarrier_wait(&r.full[slot], (uint32_t)(tile / TF32X3_STAGES & 1));
#pragma unroll
    for (int s = 0; s < TF32X3_DEPTH / 8; s++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int within =
                j + 4 * half; /* row s * 8 + within, whose pieces are swizzled by it */
            float2 pair =
                *(const float2 *)(box + (s * 8 + within) * TF32X3_BOX + ((chunk ^ within) << 2));
            f.high[s][2 * half] = high_part(pair.x);
            f.high[s][2 * half + 1] = high_part(pair.y);
            f.low[s][2 * half] = low_part(pair.x, f.high[s][2 * half]);
            f.low[s][2 * half + 1] = low_part(pair.y, f.high[s][2 * half + 1]);
        }
    }
}

/* Asks the tensor cores for a tile's products, the small ones first; part = or += them. */
GM_DEVICE void begin_products(const ring &r, int64_t tile, const fragments &f, bool accumulate,
                              float (&part)[64])
{
    const int slot = (int)(tile % TF32X3_STAGES);
    const uint64_t high = gm_wgmma_describe(r.stages[slot].a);
    const uint64_t low = gm_wgmma_describe(r.stages[slot].a_low);

    gm_mbarrier_wait(&r.split[slot], (uint32_t)(tile / TF32X3_STAGES & 1));
    gm_wgmma_fence();
    /* 8 steps are 32 bytes: 2 in a description. */
#pragma unroll
    for (int s = 0; s < TF32X3_DEPTH / 8; s++) {
        gm_wgmma_tf32(part, f.low[s], high + 2 * s, accumulate || s > 0);
    }
#pragma unroll
    for (int s = 0; s < TF32X3_DEPTH / 8; s++) {
        gm_wgmma_tf32(part, f.high[s], low + 2 * s, 1);
    }
#pragma unroll
    for (int s = 0; s < TF32X3_DEPTH / 8; s++) {
        gm_wgmma_tf32(part, f.high[s], high + 2 * s, 1);
    }
    gm_wgmma_commit();
}

/* The tensor cores are done with a tile and the registers that they read of it. */
GM_DEVICE void end_products(const ring &r, int64_t tile, fragments &f)
{
#pragma unroll
    for (int s = 0; s < TF32X3_DEPTH / 8; s++) {
        gm_wgmma_hold(f.high[s]);
        gm_wgmma_hold(f.low[s]);
    }
    if (threadIdx.x % 128 == 0) {
        gm_mbarrier_arrive(&r.empty[tile % TF32X3_STAGES]);
    }
}

GM_DEVICE void add_up(float (&sum)[64], float (&part)[64])
{
    gm_wgmma_hold(part);
#pragma unroll
    for (int i = 0; i < 64; i++) {
        sum[i] += part[i];
    }
}

/* The sum of this lane's element, or, where that is not finite, what FP32 makes of it: the lanes of
 * the warp share the work, one such element after another. */
GM_DEVICE float finite_or_again(const sgemm_args &p, int64_t row, int64_t column, float sum)
{
    const int lane = threadIdx.x % 32;
    const bool again = !isfinite(sum) && row < p.a.lines && column < p.b.lines;
    for (unsigned left = __ballot_sync(0xffffffffu, again); left != 0; left &= left - 1) {
        const int whose = __ffs(left) - 1;
        const float *x = p.a.data + __shfl_sync(0xffffffffu, row, whose) * p.a.line_stride;
        const float *y = p.b.data + __shfl_sync(0xffffffffu, column, whose) * p.b.line_stride;
        float whole = 0;
#pragma unroll 4
        for (int64_t k = lane; k < p.depth; k += 32) {
            whole += x[k * p.a.depth_stride] * y[k * p.b.depth_stride];
        }
        for (int lanes = 16; lanes > 0; lanes /= 2) {
            whole += __shfl_xor_sync(0xffffffffu, whole, lanes);
        }
        sum = lane == whose ? whole : sum;
    }
    return sum;
}

GM_DEVICE void store_pair(const sgemm_args &p, int64_t row, int64_t column, float left, float right)
{
    left = finite_or_again(p, row, column, left);
    right = finite_or_again(p, row, column + 1, right);
    if (row < p.a.lines && column + 1 < p.b.lines && p.beta == 0.0f && p.out_vectors) {
        float *out = p.out + row * p.out_stride + column;
        *(float2 *)out = make_float2(p.alpha * left, p.alpha * right);
        return;
    }
    sgemm_store(p, row, column, left);
    sgemm_store(p, row, column + 1, right);
}

GM_DEVICE void multiply(const sgemm_engine_args &a, const ring &r, int64_t row, int64_t column,
                        const engine_share &share)
{
    const int64_t tiles = share.count;
    const int group = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    float sum[64], part[64];
    fragments f[2]; /* of even and odd tiles */
#pragma unroll
    for (int i = 0; i < 64; i++) {
        sum[i] = 0;
        part[i] = 0;
    }
    if (tiles > 0) {
        load_fragments(r, 0, f[0]);
    }
    int64_t t = 0;
    for (; t + TOGETHER < tiles; t += TOGETHER) {
        gm_wgmma_hold(part);
        begin_products(r, t, f[0], false, part);
#pragma unroll
        for (int i = 1; i < TOGETHER; i++) {
            load_fragments(r, t + i, f[i % 2]);
            begin_products(r, t + i, f[i % 2], true, part);
            gm_wgmma_wait<1>();
            end_products(r, t + i - 1, f[(i - 1) % 2]);
        }
        load_fragments(r, t + TOGETHER, f[0]);
        gm_wgmma_wait<0>();
        end_products(r, t + TOGETHER - 1, f[1]);
        add_up(sum, part);
    }
    for (; t < tiles; t++) {
        gm_wgmma_hold(part);
        begin_products(r, t, f[0], false, part);
        gm_wgmma_wait<0>();
        end_products(r, t, f[0]);
        add_up(sum, part);
        if (t + 1 < tiles) {
            load_fragments(r, t + 1, f[0]);
        }
    }
    /* Row g of the product is this thread's first column of C, row g + 8 its second. */
    const sgemm_args product = engine_product(a, share, TF32X3_DEPTH);
    const int64_t at = column + group * GROUP_COLUMNS + column_of(warp, lane / 4);
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int64_t first = row + 8 * i + lane % 4 * 2;
        store_pair(product, first, at, sum[4 * i], sum[4 * i + 2]);
        store_pair(product, first + 1, at, sum[4 * i + 1], sum[4 * i + 3]);
    }
}

#endif

GM_KERNEL_BOUNDED(sgemm_tf32x3, sgemm_engine_args, TF32X3_THREADS, 1)
{
#if GM_HAS_WGMMA
    GM_DYNAMIC_SHARED(stage, stages);
    gm_mbarrier *barriers = (gm_mbarrier *)(stages + TF32X3_STAGES);
    const ring r = {stages, barriers, barriers + TF32X3_STAGES, barriers + 2 * TF32X3_STAGES};
    const engine_share share = engine_find_share(a, TF32X3_DEPTH);
    int64_t row, column;

    sgemm_find_tile(a.product, TF32X3_TILE, TF32X3_TILE, &row, &column);
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < TF32X3_STAGES; slot++) {
            gm_mbarrier_init_count(&r.full[slot], 1);
            gm_mbarrier_init_count(&r.split[slot], SPLITTERS / 32);
            gm_mbarrier_init_count(&r.empty[slot], 2);
        }
    }
    gm_wait_for_previous();
    __syncthreads();
    if (threadIdx.x < PRODUCERS) {
        gm_fewer_registers<40>();
        if (threadIdx.x == 0) {
            load_tiles(a, r, row, column, share);
        } else if (threadIdx.x >= 32) {
            split_tiles(r, share.count);
        }
    } else {
        gm_more_registers<232>();
        multiply(a, r, row, column, share);
    }
#else
    (void)a; /* the row says what has no such instructions */
#endif
}
