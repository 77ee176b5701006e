/*
 * matmul / thin: a matrix with up to four vectors, at the speed of memory.
 *
 * Follows  naive.
 * Idea     the matrix is read once, in vectors of four, with many loads of a thread in flight; each
 *          number serves all right-hand sides, whose sums are in registers. Where the depth is
 *          contiguous a warp has four lines, and its lanes the steps; where the lines are, eight
 *          lanes have 32 of them, and the other lanes and warps have other steps.
 * Machine  LDG.E.128
 *
 *     depth contiguous                       lines contiguous
 *     line 0   lanes 0 1 2 ... 31  0 1       step 0     warp 0, lanes  0 ... 7     32 lines
 *     line 1   lanes 0 1 2 ... 31  0 1       step 1             lanes  8 ... 15
 *     line 2   ...                           step 4     warp 1, lanes  0 ... 7
 */
#include "matmul.h"

enum { ROWS = MATMUL_THIN_ROWS, LINES = MATMUL_THIN_LINES, GROUPS = 32, PART = 4 * 32 };

typedef float sums[GROUPS][LINES];

/* Where the result of a line and a right-hand side is: a has the lines, whichever was given first.
 */
GM_DEVICE int64_t thin_element(const matmul_args &a, int64_t line, int side)
{
    return a.turned ? side * a.a.lines + line : line * a.b.lines + side;
}

/* ---- depth contiguous ------------------------------------------------------------------------ */

/* The thread's four steps of a line: neighbours as a vector, or 32 apart, so that the lanes of a
 * warp load neighbours. */
template <bool vectors, bool all>
GM_DEVICE void load_steps(float (&held)[4], const float *from, int64_t stride, int left)
{
    if (vectors && all) {
        const float4 four = *(const float4 *)from;
        held[0] = four.x, held[1] = four.y, held[2] = four.z, held[3] = four.w;
        return;
    }
    const int apart = vectors ? 1 : 32;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        held[i] = all || i * apart < left ? from[i * apart * stride] : 0.0f;
    }
}

/* The same steps of every right-hand side. */
template <int count, bool vectors, bool all>
GM_DEVICE void load_sides(float (&held)[count][4], const matmul_factor &x, const float *from,
                          int left)
{
    if (vectors && all && x.vectors && x.along_depth) {
#pragma unroll
        for (int j = 0; j < count; j++) {
            load_steps<true, true>(held[j], from + (j < x.lines ? j : 0) * x.line_stride, 1, left);
        }
        return;
    }
    const int apart = vectors ? 1 : 32;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float *step = from + i * apart * x.depth_stride;
        const bool exists = all || i * apart < left;
        if (count == 4 && x.vectors && !x.along_depth && x.lines == 4) {
            const float4 four = matmul_load(step, 1, exists ? 4 : 0, true);
            held[0][i] = four.x, held[1 % count][i] = four.y;
            held[2 % count][i] = four.z, held[3 % count][i] = four.w;
            continue;
        }
#pragma unroll
        for (int j = 0; j < count; j++) {
            held[j][i] = exists && j < x.lines ? step[j * x.line_stride] : 0.0f;
        }
    }
}

template <int count, bool vectors, bool all>
GM_DEVICE void add_steps(float (&sum)[ROWS][count], const matmul_factor &a, const matmul_factor &b,
                         const float *const (&line)[ROWS], int64_t step, int left)
{
    float of_a[ROWS][4], of_b[count][4];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        load_steps<vectors, all>(of_a[i], line[i] + step * a.depth_stride, a.depth_stride, left);
    }
    load_sides<count, vectors, all>(of_b, b, b.data + step * b.depth_stride, left);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int j = 0; j < count; j++) {
#pragma unroll
            for (int k = 0; k < 4; k++) {
                sum[i][j] += of_a[i][k] * of_b[j][k];
            }
        }
    }
}

/* Sums of four lines. `helpers` warps share the depth, in parts of 128 steps. */
template <int count, bool vectors>
GM_DEVICE void sum_depth(float (&sum)[ROWS][count], const matmul_args &a, const matmul_factor &left,
                         const matmul_factor &right, int64_t first_line, int64_t first,
                         int64_t depth)
{
    const int lane = threadIdx.x % 32, helper = threadIdx.x / 32 % a.helpers;
    const int64_t stride = (int64_t)a.helpers * PART;
    const float *line[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) { /* one that does not exist: the last one */
        line[i] = left.data + min(first_line + i, left.lines - 1) * left.line_stride;
    }
    int64_t part = helper * PART;
    const int own = vectors ? lane * 4 : lane;
#pragma unroll 2
    for (; part + PART <= depth; part += stride) {
        add_steps<count, vectors, true>(sum, left, right, line, first + part + own, 0);
    }
    if (part < depth && part + own < depth) {
        add_steps<count, vectors, false>(sum, left, right, line, first + part + own,
                                         (int)(depth - part - own));
    }
}

template <int count>
GM_DEVICE void by_depth(const matmul_args &a, const matmul_factor &left, const matmul_factor &right,
                        int64_t block, int64_t first, int64_t depth, float *out, sums *shared)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int64_t first_line = block * (LINES / a.helpers) + warp / a.helpers * ROWS;
    float sum[ROWS][count] = {};
    if (first_line < left.lines) {
        if (left.vectors) {
            sum_depth<count, true>(sum, a, left, right, first_line, first, depth);
        } else {
            sum_depth<count, false>(sum, a, left, right, first_line, first, depth);
        }
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int j = 0; j < count; j++) {
#pragma unroll
            for (int apart = 16; apart > 0; apart /= 2) {
                sum[i][j] += __shfl_xor_sync(~0u, sum[i][j], apart);
            }
            if (lane == i) {
                shared[j][warp][i] = sum[i][j];
            }
        }
    }
    __syncthreads();
    /* A thread for each line and side. */
    const int line = threadIdx.x % LINES, side = threadIdx.x / LINES;
    const int first_warp = line / ROWS * a.helpers;
    if (first_warp < MATMUL_THREADS / 32 && side < right.lines) {
        float total = 0.0f;
        for (int helper = 0; helper < a.helpers; helper++) {
            total += shared[side][first_warp + helper][line % ROWS];
        }
        const int64_t to = block * (LINES / a.helpers) + line;
        if (to < left.lines) {
            out[thin_element(a, to, side)] = total;
        }
    }
}

/* ---- lines contiguous ------------------------------------------------------------------------ */

template <int count>
GM_DEVICE void by_lines(const matmul_args &a, const matmul_factor &left, const matmul_factor &right,
                        int64_t block, int64_t first, int64_t depth, float *out, sums *shared)
{
    const int x = threadIdx.x % 8 * 4, group = threadIdx.x / 8;
    const int lines = (int)min(left.lines - block * LINES, (int64_t)LINES);
    const float *at = left.data + (block * LINES + x) * left.line_stride;
    float sum[count][4] = {};
#pragma unroll 8 /* loads that wait side by side */
    for (int64_t k = first + group; k < first + depth; k += GROUPS) {
        const float4 four =
            matmul_load(at + k * left.depth_stride, left.line_stride, lines - x, left.vectors);
#pragma unroll
        for (int j = 0; j < count; j++) {
            const float *side = right.data + (j < right.lines ? j : 0) * right.line_stride;
            const float of_b = side[k * right.depth_stride];
            sum[j][0] += four.x * of_b, sum[j][1] += four.y * of_b;
            sum[j][2] += four.z * of_b, sum[j][3] += four.w * of_b;
        }
    }
#pragma unroll
    for (int j = 0; j < count; j++) {
        *(float4 *)&shared[j][group][x] = make_float4(sum[j][0], sum[j][1], sum[j][2], sum[j][3]);
    }
    __syncthreads();
    const int line = threadIdx.x % LINES, side = threadIdx.x / LINES;
    if (line < lines && side < right.lines) {
        float total = 0.0f;
#pragma unroll 8
        for (int i = 0; i < GROUPS; i++) {
            total += shared[side][i][line];
        }
        out[thin_element(a, block * LINES + line, side)] = total;
    }
}

/* ---- the product ----------------------------------------------------------------------------- */

template <int count> GM_DEVICE void thin_product(const matmul_args &a, sums *shared)
{
    const unsigned blocks = (unsigned)a.tiles_y;
    const unsigned product = blockIdx.x / blocks, block = blockIdx.x % blocks;
    const int64_t first = blockIdx.y * a.share, depth = min(a.depth - first, a.share);
    matmul_factor left, right;
    gm_wait_for_previous();
    matmul_go_to(a, product, &left, &right);
    float *out = a.out + blockIdx.y * a.partial + product * left.lines * right.lines;
    if (left.along_depth) {
        by_depth<count>(a, left, right, block, first, depth, out, shared);
    } else {
        by_lines<count>(a, left, right, block, first, depth, out, shared);
    }
}

GM_KERNEL_BOUNDED(matmul_thin_one, matmul_args, MATMUL_THREADS, 2)
{
    __shared__ __align__(16) sums shared[1];
    thin_product<1>(a, shared);
}

GM_KERNEL_BOUNDED(matmul_thin_two, matmul_args, MATMUL_THREADS, 2)
{
    __shared__ __align__(16) sums shared[2];
    thin_product<2>(a, shared);
}

GM_KERNEL_BOUNDED(matmul_thin_four, matmul_args, MATMUL_THREADS, 2)
{
    __shared__ __align__(16) sums shared[4];
    thin_product<4>(a, shared);
}
