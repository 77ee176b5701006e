/*
 * sgemm: C = alpha op(A) op(B) + beta C.
 *
 * Both factors are described alike: `lines`, the rows of op(A) and the columns of op(B), of `depth`
 * numbers each, which are multiplied and summed. Transposing a factor exchanges its two strides, so
 * that one kernel computes all four products: one of the two directions is contiguous, and vector
 * loads go along it.
 *
 *                     B    depth x lines           element k of line i of a factor is
 *                     |                            data[i * line_stride + k * depth_stride]
 *     A ------------- C    A: lines x depth
 *
 * On the host the compiler should unroll and vectorise a thread's products, which makes them four
 * times as fast:
 * Build    plain -O3
 */
#ifndef GPUMEM_SGEMM_H
#define GPUMEM_SGEMM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sgemm_factor {
    const float *data;
    int64_t lines;
    int64_t line_stride, depth_stride; /* elements to the next line, to the next step of the sum */
    bool along_depth;                  /* the depth is contiguous, not the lines */
    bool vectors; /* each four contiguous numbers, from a multiple of four on, are aligned */
} sgemm_factor;

typedef struct sgemm_args {
    sgemm_factor a, b;
    int64_t depth; /* 0 where alpha is 0: the factors are not read */
    float alpha, beta;
    const float *c; /* read where beta is not 0 */
    float *out;
    int64_t c_stride, c_step; /* elements from row to row, and from column to column */
    int64_t out_stride;
    bool out_vectors, c_vectors;
    int64_t tiles_x, tiles_y; /* of the variant's tile, over the result */
    unsigned group;           /* rows of tiles in a group, see sgemm_find_tile */
} sgemm_args;

enum { SGEMM_GROUP = 16 }; /* rows of tiles, see sgemm_find_tile */

#ifdef __cplusplus
#include "device.h"

/* ---- where a block works ------------------------------------------------------------------- */

/*
 * Blocks that run at the same time should share lines of A and of B, so that the L2 holds them.
 * Groups of rows of tiles are walked column by column (here of two rows): about as many rows as
 * columns of tiles run at a time, where a plain row of tiles would need all of B.
 *
 *     blocks 0 2 4 6 ...
 *            1 3 5 7 ...
 *
 * The small tiles of vec4 need this most: x of its grid counts the tiles of a group, y groups, and
 * z counts on where y ends, at 65535. From warp_tile on x counts all tiles, and this finds the
 * first row and column of one.
 */
GM_DEVICE void sgemm_find_tile(const sgemm_args &a, unsigned tile, int height, int width,
                               int64_t *row, int64_t *column)
{
    unsigned per_group = a.group * (unsigned)a.tiles_x; /* at most the grid */
    unsigned first = tile / per_group * a.group;
    unsigned within = tile % per_group;
    unsigned rows = min(a.group, (unsigned)a.tiles_y - first);
    *row = (int64_t)(first + within % rows) * height;
    *column = (int64_t)(within / rows) * width;
}

/*
 * Place of a thread in its block's square of 16 x 16. A warp is 8 wide and 4 high, two warps are
 * side by side: eight threads next to each other load and store four columns each, 128 bytes of a
 * row.
 *
 *     warp 0   warp 1        lanes of a warp    0  1 ...  7
 *     warp 2   warp 3                           8  9 ... 15
 *     warp 4   warp 5                          16 17 ... 23
 *     warp 6   warp 7                          24 25 ... 31
 */
enum { SGEMM_SIDE = 16 };

GM_DEVICE int sgemm_thread_x(void)
{
    return threadIdx.x / 32 % 2 * 8 + threadIdx.x % 8;
}

GM_DEVICE int sgemm_thread_y(void)
{
    return threadIdx.x / 64 * 4 + threadIdx.x % 32 / 8;
}

/* ---- loads --------------------------------------------------------------------------------- */

/* Up to four contiguous numbers, loaded one by one; zeros from `count` on. */
GM_DEVICE float4 sgemm_load_some(const float *from, int count)
{
    float4 four;
    four.x = count > 0 ? from[0] : 0.0f;
    four.y = count > 1 ? from[1] : 0.0f;
    four.z = count > 2 ? from[2] : 0.0f;
    four.w = count > 3 ? from[3] : 0.0f;
    return four;
}

/*
 * Loads four steps of four lines from global memory: piece[k][at + i] is step k of line i. Four
 * vector loads where all of them exist and are aligned, else single ones, with zeros outside the
 * matrix.
 */
template <int width>
GM_DEVICE void sgemm_load_square(float (&piece)[4][width], int at, const sgemm_factor &x,
                                 int64_t line, int64_t k, int64_t depth)
{
    const float *from = x.data + line * x.line_stride + k * x.depth_stride;
    const int64_t stride = x.along_depth ? x.line_stride : x.depth_stride;
    const int64_t along = x.along_depth ? depth - k : x.lines - line;
    const int64_t across = x.along_depth ? x.lines - line : depth - k;
    float4 held[4];

    if (x.vectors && along >= 4 && across >= 4) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            held[i] = *(const float4 *)(from + i * stride);
        }
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            held[i] =
                sgemm_load_some(from + i * stride, i < across ? (int)min(along, (int64_t)4) : 0);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float four[4] = {held[i].x, held[i].y, held[i].z, held[i].w};
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (x.along_depth) {
                piece[j][at + i] = four[j];
            } else {
                piece[i][at + j] = four[j];
            }
        }
    }
}

/* ---- the sum ------------------------------------------------------------------------------- */

/*
 * The order of a thread's products. To and fro, a row begins where the last one ended, with the
 * same number of b, whose register need not be read again. On an H200 that gains 2 to 9 % where the
 * numbers of one step come from shared memory, and loses 1 to 4 % where four steps are loaded at
 * once.
 */
enum sgemm_walk { SGEMM_FORWARD, SGEMM_TO_AND_FRO };

/* One step of the sum: every row of a times every column of b. */
template <sgemm_walk walk, int rows, int columns>
GM_DEVICE void sgemm_multiply(float (&sum)[rows][columns], const float (&a)[rows],
                              const float (&b)[columns])
{
#pragma unroll
    for (int i = 0; i < rows; i++) {
#pragma unroll
        for (int n = 0; n < columns; n++) {
            const int j = walk == SGEMM_TO_AND_FRO && i % 2 ? columns - 1 - n : n;
            sum[i][j] += a[i] * b[j];
        }
    }
}

/* ---- the result ---------------------------------------------------------------------------- */

/* alpha * sum + beta * c. Where beta is 0, c is not read: a NaN in it has no effect. */
GM_DEVICE void sgemm_store(const sgemm_args &a, int64_t row, int64_t column, float sum)
{
    if (row < a.a.lines && column < a.b.lines) {
        float value = a.alpha * sum;
        if (a.beta != 0.0f) {
            value += a.beta * a.c[row * a.c_stride + column * a.c_step];
        }
        a.out[row * a.out_stride + column] = value;
    }
}

/* Numbers of the result by one instruction. Of `*(float4 *)to = four` nvcc makes four where other
 * code stores to the same place one by one. */
GM_DEVICE void sgemm_store_at(float *to, float one)
{
#ifdef __CUDACC__
    asm volatile("st.global.f32 [%0], %1;" ::"l"(to), "f"(one));
#else
    *to = one;
#endif
}

GM_DEVICE void sgemm_store_at(float *to, float2 two)
{
#ifdef __CUDACC__
    asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(two.x), "f"(two.y));
#else
    *(float2 *)to = two;
#endif
}

GM_DEVICE void sgemm_store_at(float *to, float4 four)
{
#ifdef __CUDACC__
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(four.x), "f"(four.y),
                 "f"(four.z), "f"(four.w));
#else
    *(float4 *)to = four;
#endif
}

/* The same as sgemm_store for two columns, from an even one on. */
GM_DEVICE void sgemm_store2(const sgemm_args &a, int64_t row, int64_t column, float left,
                            float right)
{
    if (row < a.a.lines && column + 1 < a.b.lines && a.beta == 0.0f && a.out_vectors) {
        sgemm_store_at(a.out + row * a.out_stride + column,
                       make_float2(a.alpha * left, a.alpha * right));
        return;
    }
    sgemm_store(a, row, column, left);
    sgemm_store(a, row, column + 1, right);
}

/* The same for four columns, from a multiple of four on. */
GM_DEVICE void sgemm_store4(const sgemm_args &a, int64_t row, int64_t column, const float *sum)
{
    bool whole = row < a.a.lines && column + 4 <= a.b.lines;
    if (whole && a.out_vectors && (a.c_vectors || a.beta == 0.0f)) {
        float4 value =
            make_float4(a.alpha * sum[0], a.alpha * sum[1], a.alpha * sum[2], a.alpha * sum[3]);
        if (a.beta != 0.0f) {
            float4 c = *(const float4 *)&a.c[row * a.c_stride + column];
            value.x += a.beta * c.x;
            value.y += a.beta * c.y;
            value.z += a.beta * c.z;
            value.w += a.beta * c.w;
        }
        sgemm_store_at(a.out + row * a.out_stride + column, value);
        return;
    }
#pragma unroll
    for (int j = 0; j < 4; j++) {
        sgemm_store(a, row, column + j, sum[j]);
    }
}

/* The 8 x 8 sums of a thread in a tile of 128 x 128: 2 x 2 squares of 4 x 4, 64 apart. */
GM_DEVICE void sgemm_store_squares(const sgemm_args &a, int64_t first_row, int64_t first_column,
                                   const float (&sum)[8][8])
{
    const int64_t row = first_row + sgemm_thread_y() * 4;
    const int64_t column = first_column + sgemm_thread_x() * 4;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        sgemm_store4(a, row + i / 4 * 64 + i % 4, column, &sum[i][0]);
        sgemm_store4(a, row + i / 4 * 64 + i % 4, column + 64, &sum[i][4]);
    }
}
#endif

#endif
