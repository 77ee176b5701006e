/*
 * matmul / thin: a matrix with up to four vectors, at the speed of memory.
 *
 * Follows  naive.
 * Idea     the matrix is read once, in vectors of four, and each number serves all right-hand
 *          sides, whose sums are in registers. A multiprocessor needs 32 KB of loads on their way
 *          at any time: the threads load in batches of 8 x 4 numbers, and no branch stands between
 *          the loads of a batch, because one that is not taken keeps the next load waiting for the
 *          last. What differs by layout is a template's argument.
 *          Where the depth is contiguous a warp has four lines, and its lanes the steps. Where the
 *          lines are, a warp has 128 of them (or 32, if there are few), and other warps have other
 *          steps.
 * Machine  LDG.E.128
 *
 *     depth contiguous                       lines contiguous
 *     line 0   lanes 0 1 2 ... 31  0 1       step 0     warp 0, lanes 0 ... 31     128 lines
 *     line 1   lanes 0 1 2 ... 31  0 1       step 1     warp 1
 *     line 2   ...                           step 8     warp 0
 */
#include "matmul.h"

enum { ROWS = MATMUL_THIN_ROWS, LINES = MATMUL_THIN_LINES, PART = 4 * 32, BATCH = 8 };

typedef float sums[4 * MATMUL_THREADS];

/* Where the result of a line and a right-hand side is: a has the lines, whichever was given first.
 */
GM_DEVICE int64_t thin_element(const matmul_args &a, int64_t line, int side)
{
    return a.turned ? side * a.a.lines + line : line * a.b.lines + side;
}

/* ---- depth contiguous ------------------------------------------------------------------------ */

/* The thread's four steps of a line: neighbours as a vector, which exists as a whole, or 32 apart,
 * so that the lanes of a warp load neighbours. Zeros for steps from `left` on. */
template <bool vectors, bool all>
GM_DEVICE void load_steps(float (&held)[4], const float *from, int64_t stride, int left)
{
    if (vectors) {
        const float4 four = all || left > 0 ? *(const float4 *)from : float4{};
        held[0] = four.x, held[1] = four.y, held[2] = four.z, held[3] = four.w;
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            held[i] = all || i * 32 < left ? from[i * 32 * stride] : 0.0f;
        }
    }
}

/* How the right-hand sides are loaded: as vectors of steps, as vectors of four sides, or one by
 * one. A side that does not exist is the first one; its sums are not written. */
enum { STEPS, SIDES, SINGLE };

/* The same steps of every right-hand side. */
template <int count, bool vectors, bool all, int by>
GM_DEVICE void load_sides(float (&held)[count][4], const matmul_factor &x, const float *from,
                          int left)
{
    if (by == STEPS) {
#pragma unroll
        for (int j = 0; j < count; j++) {
            load_steps<true, all>(held[j], from + (j < x.lines ? j : 0) * x.line_stride, 1, left);
        }
        return;
    }
    const int apart = vectors ? 1 : 32;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float *step = from + i * apart * x.depth_stride;
        const bool exists = all || i * apart < left;
        if (by == SIDES) {
            const float4 four = exists ? *(const float4 *)step : float4{};
            held[0][i] = four.x, held[1 % count][i] = four.y;
            held[2 % count][i] = four.z, held[3 % count][i] = four.w;
        } else {
#pragma unroll
            for (int j = 0; j < count; j++) {
                held[j][i] = exists ? step[(j < x.lines ? j : 0) * x.line_stride] : 0.0f;
            }
        }
    }
}

/* A batch: the thread's steps of two parts, `stride` apart, of which `left` steps exist. */
template <int count, bool vectors, bool all, int by>
GM_DEVICE void add_parts(float (&sum)[ROWS][count], const matmul_factor &a, const matmul_factor &b,
                         const float *const (&line)[ROWS], int64_t step, int64_t stride,
                         int64_t left)
{
    float of_a[2][ROWS][4], of_b[2][count][4];
#pragma unroll
    for (int part = 0; part < 2; part++) {
        const int64_t at = step + part * stride;
        const int some = (int)min(left - part * stride, (int64_t)PART);
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            load_steps<vectors, all>(of_a[part][i], line[i] + at * a.depth_stride, a.depth_stride,
                                     some);
        }
        load_sides<count, vectors, all, by>(of_b[part], b, b.data + at * b.depth_stride, some);
    }
#pragma unroll
    for (int part = 0; part < 2; part++) {
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
#pragma unroll
            for (int j = 0; j < count; j++) {
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    sum[i][j] += of_a[part][i][k] * of_b[part][j][k];
                }
            }
        }
    }
}

/* Sums of four lines. `helpers` warps share the depth, in parts of 128 steps. */
template <int count, bool vectors, int by>
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
#pragma unroll 1
    for (; part + stride + PART <= depth; part += 2 * stride) {
        add_parts<count, vectors, true, by>(sum, left, right, line, first + part + own, stride, 0);
    }
    if (part + own < depth) {
        add_parts<count, vectors, false, by>(sum, left, right, line, first + part + own, stride,
                                             depth - part - own);
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
        if (!left.vectors || a.depth % 4 != 0) {
            sum_depth<count, false, SINGLE>(sum, a, left, right, first_line, first, depth);
        } else if (right.vectors && right.along_depth) {
            sum_depth<count, true, STEPS>(sum, a, left, right, first_line, first, depth);
        } else if (count == 4 && right.vectors && right.lines == 4) {
            sum_depth<count, true, SIDES>(sum, a, left, right, first_line, first, depth);
        } else {
            sum_depth<count, true, SINGLE>(sum, a, left, right, first_line, first, depth);
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
                shared[j][warp * LINES + i] = sum[i][j];
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
            total += shared[side][(first_warp + helper) * LINES + line % ROWS];
        }
        const int64_t to = block * (LINES / a.helpers) + line;
        if (to < left.lines) {
            out[thin_element(a, to, side)] = total;
        }
    }
}

/* ---- lines contiguous ------------------------------------------------------------------------ */

/* A thread's four lines of BATCH steps, `apart` from one to the next: neighbours as a vector, or
 * `lanes` apart, so that the lanes load neighbours. Steps from `left` on are zeros. */
template <int count, bool vectors, int lanes, bool all>
GM_DEVICE void add_batch(float (&sum)[count][4], const matmul_factor &a, const matmul_factor &b,
                         const float *const (&line)[4], int64_t step, int left)
{
    constexpr int apart = MATMUL_THREADS / lanes;
    float of_a[BATCH][4], of_b[BATCH][count];
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        const int64_t at = step + (all || i * apart < left ? i * apart : 0);
        if (vectors) {
            const float4 four = *(const float4 *)(line[0] + at * a.depth_stride);
            of_a[i][0] = four.x, of_a[i][1] = four.y, of_a[i][2] = four.z, of_a[i][3] = four.w;
        } else {
#pragma unroll
            for (int n = 0; n < 4; n++) {
                of_a[i][n] = line[n][at * a.depth_stride];
            }
        }
#pragma unroll
        for (int j = 0; j < count; j++) {
            of_b[i][j] = b.data[at * b.depth_stride + (j < b.lines ? j : 0) * b.line_stride];
        }
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        if (all || i * apart < left) {
#pragma unroll
            for (int j = 0; j < count; j++) {
#pragma unroll
                for (int n = 0; n < 4; n++) {
                    sum[j][n] += of_a[i][n] * of_b[i][j];
                }
            }
        }
    }
}

/* Sums of the lines of a block, in shared memory: one group of lanes after the other. */
template <int count, bool vectors, int lanes>
GM_DEVICE void sum_lines(const matmul_factor &left, const matmul_factor &right, int64_t first_line,
                         int lines, int64_t first, int64_t depth, sums *shared)
{
    constexpr int groups = MATMUL_THREADS / lanes;
    const int lane = threadIdx.x % lanes, group = threadIdx.x / lanes;
    const float *line[4];
    float sum[count][4] = {};
#pragma unroll
    for (int n = 0; n < 4; n++) { /* those that do not exist: the last ones */
        const int own = vectors ? min(lane * 4, lines - 4) : min(lane + n * lanes, lines - 1);
        line[n] = left.data + (first_line + own) * left.line_stride;
    }
    const int64_t end = first + depth;
    int64_t step = first + group;
#pragma unroll 1
    for (; step + (BATCH - 1) * groups < end; step += BATCH * groups) {
        add_batch<count, vectors, lanes, true>(sum, left, right, line, step, 0);
    }
    if (step < end) {
        add_batch<count, vectors, lanes, false>(sum, left, right, line, step, (int)(end - step));
    }
#pragma unroll
    for (int j = 0; j < count; j++) {
        float *to = shared[j] + group * 4 * lanes;
        if (vectors) {
            *(float4 *)(to + lane * 4) = make_float4(sum[j][0], sum[j][1], sum[j][2], sum[j][3]);
        } else {
#pragma unroll
            for (int n = 0; n < 4; n++) {
                to[lane + n * lanes] = sum[j][n];
            }
        }
    }
}

template <int count, int lanes>
GM_DEVICE void by_lines(const matmul_args &a, const matmul_factor &left, const matmul_factor &right,
                        int64_t block, int64_t first, int64_t depth, float *out, sums *shared)
{
    constexpr int most = 4 * lanes;
    const int64_t first_line = block * most;
    const int lines = (int)min(left.lines - first_line, (int64_t)most);
    if (left.vectors && lines % 4 == 0) {
        sum_lines<count, true, lanes>(left, right, first_line, lines, first, depth, shared);
    } else {
        sum_lines<count, false, lanes>(left, right, first_line, lines, first, depth, shared);
    }
    __syncthreads();
#pragma unroll 1
    for (int i = threadIdx.x; i < count * most; i += MATMUL_THREADS) {
        const int line = i % most, side = i / most;
        if (line < lines && side < right.lines) {
            float total = 0.0f;
#pragma unroll 8
            for (int group = 0; group < MATMUL_THREADS / lanes; group++) {
                total += shared[side][group * most + line];
            }
            out[thin_element(a, first_line + line, side)] = total;
        }
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
    gm_let_next_start();
    matmul_go_to(a, product, &left, &right);
    float *out = a.out + blockIdx.y * a.partial + product * left.lines * right.lines;
    if (left.along_depth) {
        by_depth<count>(a, left, right, block, first, depth, out, shared);
    } else if (a.tile_lines == MATMUL_THIN_WIDE) {
        by_lines<count, 32>(a, left, right, block, first, depth, out, shared);
    } else {
        by_lines<count, 8>(a, left, right, block, first, depth, out, shared);
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
