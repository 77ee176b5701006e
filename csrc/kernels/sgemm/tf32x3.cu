/*
 * sgemm / tf32x3: FP32 accuracy on the tensor cores of Hopper.
 *
 * Follows  warp_tile_tma.
 * Idea     a tensor core multiplies numbers of 11 bits. A float is such a number, high, and a rest,
 *          low, that is another one: x y = xh yh + xh yl + xl yh, and the product of the low parts,
 *          less than 2^-21 of x y, is left out. Three products on units that are seven times as
 *          fast.
 * Rounding the tensor cores truncate their operands. So A's tile is its own high part, and only its
 *          low part is written. B is rounded to nearest, so that the error has either sign, also
 *          where all numbers are positive.
 * Sum      the tensor cores do not round to nearest: their error grows with the length of a sum.
 *          Each 128 steps start from 0 and are added up in registers, in FP32.
 * Banks    a lane needs two columns of B at steps j and j + 4. Which columns the rows of a product
 *          stand for is free: with column_of() the loads of half a warp fill all 32 banks.
 * Special  the high and low part of an infinity make a NaN. The lanes of a warp compute a sum that
 *          is not finite again, in FP32.
 * Limits   low parts below the smallest normal float are lost: numbers under 2^-113 have TF32's
 *          accuracy.
 * Machine  UTMALDG.2D, HGMMA.64x128x8.F32.TF32
 *
 * A block computes 128 x 128 of C, in stages of 32 steps, with three warp groups of 128 threads:
 *
 *     group 0   warp 0       one thread requests the tiles of A and B from the copy engine
 *               warps 1-3    write the low part of A's tile beside it
 *     group 1   columns  0-63 of C: splits its part of B in registers, multiplies, adds up, stores
 *     group 2   columns 64-127
 *
 * C is computed transposed: the operand in shared memory has to be contiguous along the depth, as
 * A's rows are, so that the one in registers is B.
 *
 * There is a ring of four stages, each with three barriers: full (the tiles have arrived), split
 * (the low part of A is written) and empty (both groups have multiplied). While the tensor cores
 * multiply a tile, the groups split the next one of B:
 *
 *     engine         | tile 0 | tile 1 | tile 2 | tile 3 |      | tile 4, when 0 is empty
 *     warps 1-3               | low 0  | low 1  | low 2  | low 3
 *     groups 1, 2             | B 0    | B 1            | B 2            | B 3
 *     tensor cores                     | products of 0  | products of 1  | products of 2
 */
#include "tensor.h"
#include "tf32x3.h"
#include "wgmma.h"

#if GM_HAS_WGMMA

struct geometry {
    static constexpr int producers = 128; /* threads of the first warp group, */
    static constexpr int splitters = 96;  /* and of all its warps but the first */
    static constexpr int group_columns = 64;
    static constexpr int tile_floats = TF32X3_TILE * TF32X3_DEPTH;
    static constexpr int box_floats = TF32X3_BOX * TF32X3_DEPTH;
    static constexpr int parts = TF32X3_DEPTH / 8; /* of a tile: 8 steps, one product each */
    static constexpr int together = 4; /* tiles that the tensor cores add up; an even number */
};

typedef struct stage {
    float a[geometry::tile_floats], a_low[geometry::tile_floats], b[geometry::tile_floats];
} stage;

typedef struct ring {
    stage *stages;
    gm_mbarrier *full, *split, *empty;
} ring;

/* A float as the tensor cores read it: truncated to TF32. */
GM_DEVICE float cut_part(float x)
{
    return __uint_as_float(__float_as_uint(x) & 0xffffe000u);
}

/* The nearest TF32 number, by integer arithmetic: conversion instructions are four times as slow.
 */
GM_DEVICE float high_part(float x)
{
    return cut_part(__uint_as_float(__float_as_uint(x) + 0x1000u));
}

/* The rest of a float. The tensor cores truncate it too: half a unit of the last bit that they read
 * is added, which rounds it. */
GM_DEVICE float low_part(float x, float high)
{
    return __uint_as_float(__float_as_uint(x - high) + 0x1000u);
}

/* ---- load and split -------------------------------------------------------------------------- */

GM_DEVICE void load_stage(const sgemm_engine_args &a, const ring &r, int64_t row, int64_t column,
                          int64_t first, int64_t tile)
{
    const int slot = (int)(tile % TF32X3_STAGES), depth = (int)((first + tile) * TF32X3_DEPTH);
    stage *to = &r.stages[slot];
    gm_mbarrier_expect(&r.full[slot], 2 * geometry::tile_floats * 4);
    gm_tensor_load(to->a, &a.a, depth, (int)row, &r.full[slot]);
    for (int box = 0; box < TF32X3_TILE / TF32X3_BOX; box++) {
        gm_tensor_load(to->b + box * geometry::box_floats, &a.b, (int)column + box * TF32X3_BOX,
                       depth, &r.full[slot]);
    }
}

/* One thread: requests tiles as slots become empty. */
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

/* Three warps: write the low parts of A beside it. */
GM_DEVICE void split_tiles(const ring &r, int64_t tiles)
{
    for (int64_t t = 0; t < tiles; t++) {
        const int slot = (int)(t % TF32X3_STAGES);
        const float4 *x = (const float4 *)r.stages[slot].a;
        float4 *low = (float4 *)r.stages[slot].a_low;
        gm_mbarrier_wait(&r.full[slot], (uint32_t)(t / TF32X3_STAGES & 1));
#pragma unroll 4
        for (int i = threadIdx.x - 32; i < geometry::tile_floats / 4; i += geometry::splitters) {
            const float4 v = x[i];
            low[i] = make_float4(low_part(v.x, cut_part(v.x)), low_part(v.y, cut_part(v.y)),
                                 low_part(v.z, cut_part(v.z)), low_part(v.w, cut_part(v.w)));
        }
        gm_bulk_fence(); /* makes the stores visible to the tensor cores */
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            gm_mbarrier_arrive(&r.split[slot]);
        }
    }
}

/* ---- multiply -------------------------------------------------------------------------------- */

/* Where a box has the two columns of B of a thread, among the 64 of its warp group. */
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

/* A thread's part of a tile of B, for each 8 steps. */
typedef struct fragments {
    float high[geometry::parts][4], low[geometry::parts][4];
} fragments;

GM_DEVICE void load_fragments(const ring &r, int64_t tile, fragments &f)
{
    const int slot = (int)(tile % TF32X3_STAGES), group = threadIdx.x / 128 - 1;
    const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const int g = lane / 4, j = lane % 4, chunk = chunk_of(warp, g);
    const float *box =
        r.stages[slot].b + (g & 1) * 2 +
        (group * (geometry::group_columns / TF32X3_BOX) + box_of(warp)) * geometry::box_floats;
    gm_mbarrier_wait(&r.full[slot], (uint32_t)(tile / TF32X3_STAGES & 1));
#pragma unroll
    for (int s = 0; s < geometry::parts; s++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int within = j + 4 * half; /* of row s * 8 + within, whose chunks are swizzled */
            float2 pair =
                *(const float2 *)(box + (s * 8 + within) * TF32X3_BOX + ((chunk ^ within) << 2));
            f.high[s][2 * half] = high_part(pair.x);
            f.high[s][2 * half + 1] = high_part(pair.y);
            f.low[s][2 * half] = low_part(pair.x, f.high[s][2 * half]);
            f.low[s][2 * half + 1] = low_part(pair.y, f.high[s][2 * half + 1]);
        }
    }
}

/* Starts a tile's products, the small ones first; they are added to part, or replace it. */
GM_DEVICE void begin_products(const ring &r, int64_t tile, const fragments &f, bool accumulate,
                              float (&part)[64])
{
    const int slot = (int)(tile % TF32X3_STAGES);
    const uint64_t high = gm_wgmma_describe(r.stages[slot].a);
    const uint64_t low = gm_wgmma_describe(r.stages[slot].a_low);

    gm_mbarrier_wait(&r.split[slot], (uint32_t)(tile / TF32X3_STAGES & 1));
    gm_wgmma_fence();
    /* 8 steps are 32 bytes: 2 in the units of a description. */
#pragma unroll
    for (int s = 0; s < geometry::parts; s++) {
        gm_wgmma_tf32(part, f.low[s], high + 2 * s, accumulate || s > 0);
    }
#pragma unroll
    for (int s = 0; s < geometry::parts; s++) {
        gm_wgmma_tf32(part, f.high[s], low + 2 * s, 1);
    }
#pragma unroll
    for (int s = 0; s < geometry::parts; s++) {
        gm_wgmma_tf32(part, f.high[s], high + 2 * s, 1);
    }
    gm_wgmma_commit();
}

/* After a wait: the tensor cores have read a tile and its fragments. */
GM_DEVICE void end_products(const ring &r, int64_t tile, fragments &f)
{
#pragma unroll
    for (int s = 0; s < geometry::parts; s++) {
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

/* A warp group: the sums of its 64 columns of C. Four tiles at a time are one sum of the tensor
 * cores; those that are left at the end are a sum each. */
GM_DEVICE void multiply(const ring &r, int64_t tiles, float (&sum)[64])
{
    float part[64];
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
    for (; t + geometry::together < tiles; t += geometry::together) {
        gm_wgmma_hold(part);
        begin_products(r, t, f[0], false, part);
#pragma unroll
        for (int i = 1; i < geometry::together; i++) {
            load_fragments(r, t + i, f[i % 2]);
            begin_products(r, t + i, f[i % 2], true, part);
            gm_wgmma_wait<1>();
            end_products(r, t + i - 1, f[(i - 1) % 2]);
        }
        load_fragments(r, t + geometry::together, f[0]);
        gm_wgmma_wait<0>();
        end_products(r, t + geometry::together - 1, f[1]);
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
}

/* ---- store ----------------------------------------------------------------------------------- */

/* The sum, or the sum in FP32 if it is not finite. The lanes of the warp share the work, for one
 * such element after the other. */
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
    sgemm_store2(p, row, column, left, right);
}

/* Row g of a product is the thread's first column of C, row g + 8 its second. */
GM_DEVICE void store_sums(const sgemm_args &p, int64_t row, int64_t column, const float (&sum)[64])
{
    const int group = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const int64_t at = column + group * geometry::group_columns + column_of(warp, lane / 4);
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int64_t first = row + 8 * i + lane % 4 * 2;
        store_pair(p, first, at, sum[4 * i], sum[4 * i + 2]);
        store_pair(p, first + 1, at, sum[4 * i + 1], sum[4 * i + 3]);
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

    sgemm_find_tile(a.product, blockIdx.x, TF32X3_TILE, TF32X3_TILE, &row, &column);
    if (threadIdx.x == 0) {
        for (int slot = 0; slot < TF32X3_STAGES; slot++) {
            gm_mbarrier_init_count(&r.full[slot], 1);
            gm_mbarrier_init_count(&r.split[slot], geometry::splitters / 32);
            gm_mbarrier_init_count(&r.empty[slot], 2);
        }
    }
    gm_wait_for_previous();
    if (!engine_is_turn(a.turn)) {
        return;
    }
    __syncthreads();
    if (threadIdx.x < geometry::producers) {
        gm_fewer_registers<40>();
        if (threadIdx.x == 0) {
            load_tiles(a, r, row, column, share);
        } else if (threadIdx.x >= 32) {
            split_tiles(r, share.count);
        }
    } else {
        gm_more_registers<232>();
        float sum[64];
        multiply(r, share.count, sum);
        store_sums(engine_product(a, share, TF32X3_DEPTH), row, column, sum);
    }
#else
    (void)a; /* the row names the one target that has these instructions */
#endif
}
