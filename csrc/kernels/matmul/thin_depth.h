/* thin: sums of lines whose depth is contiguous. */
#ifndef GPUMEM_MATMUL_THIN_DEPTH_H
#define GPUMEM_MATMUL_THIN_DEPTH_H

#include "thin.h"

/* The thread's four steps of a line: neighbours as a vector, which exists as a whole, or 32 apart,
 * so that the lanes of a warp load neighbours. Zeros for steps from `left` on. */
template <bool once, bool vectors, bool all>
GM_DEVICE void load_steps(float (&held)[4], const float *from, int64_t stride, int left)
{
    if (vectors) {
        const float4 four = all || left > 0 ? thin_load<once>((const float4 *)from) : float4{};
        held[0] = four.x, held[1] = four.y, held[2] = four.z, held[3] = four.w;
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            held[i] = all || i * 32 < left ? thin_load<once>(from + i * 32 * stride) : 0.0f;
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
            load_steps<false, true, all>(held[j], from + (j < x.lines ? j : 0) * x.line_stride, 1,
                                         left);
        }
        return;
    }
    const int apart = vectors ? 1 : 32;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float *step = from + i * apart * x.depth_stride;
        const bool exists = all || (vectors ? 0 : i * apart) < left; /* vectors: as a whole */
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
template <int count, bool once, bool vectors, bool all, int by>
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
            load_steps<once, vectors, all>(of_a[part][i], line[i] + at * a.depth_stride,
                                           a.depth_stride, some);
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

/* Where a warp's line begins: one that does not exist is the first. They are `apart`. */
GM_DEVICE const float *line_of_warp(const matmul_factor &x, int64_t first_line, int apart, int line)
{
    const int64_t at = first_line + line * apart;
    return x.data + (at < x.lines ? at : first_line) * x.line_stride;
}

/* Sums of four lines. `helpers` warps share the depth, in parts of 128 steps. */
template <int count, bool once, bool vectors, int by>
GM_DEVICE void sum_depth(float (&sum)[ROWS][count], const matmul_args &a, const matmul_factor &left,
                         const matmul_factor &right, int64_t first_line, int apart, int64_t first,
                         int64_t depth)
{
    const int lane = threadIdx.x % 32, helper = threadIdx.x / 32 & (a.helpers - 1);
    const int64_t stride = (int64_t)a.helpers * PART;
    const float *line[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        line[i] = line_of_warp(left, first_line, apart, i);
    }
    int64_t part = helper * PART;
    const int own = vectors ? lane * 4 : lane;
#pragma unroll 1
    for (; part + stride + PART <= depth; part += 2 * stride) {
        add_parts<count, once, vectors, true, by>(sum, left, right, line, first + part + own,
                                                  stride, 0);
    }
    if (part + own < depth) {
        add_parts<count, once, vectors, false, by>(sum, left, right, line, first + part + own,
                                                   stride, depth - part - own);
    }
}

/* Sums of four spread lines: of the vectors that are whole, and of up to three numbers before and
 * after them, which are for eight lanes a line. */
template <int count, bool once>
GM_DEVICE void sum_spread(float (&sum)[ROWS][count], const matmul_args &a,
                          const matmul_factor &left, const matmul_factor &right, int64_t first_line,
                          int64_t first)
{
    const int lane = threadIdx.x % 32, own = lane / 8, slot = lane % 8;
    const float *line = line_of_warp(left, first_line, ROWS, own);
    const int64_t before = min((int64_t)((0 - (uintptr_t)line / sizeof(float)) & 3), a.depth);
    const int64_t body = (a.depth - before) / 4 * 4, after = a.depth - before - body;
    const bool first_warp = first == 0 && (threadIdx.x / 32 & (a.helpers - 1)) == 0;
    const bool exists = first_warp && (slot < 4 ? slot < before : slot - 4 < after);
    const int64_t at = slot < 4 ? slot : before + body + slot - 4;
    const float of_a = exists ? thin_load<once>(line + at) : 0.0f;
    float of_b[count];
#pragma unroll
    for (int j = 0; j < count; j++) {
        const float *side = right.data + (j < right.lines ? j : 0) * right.line_stride;
        of_b[j] = exists ? side[at * right.depth_stride] : 0.0f;
    }
    matmul_factor vectors = left, others = right;
    vectors.depth_stride = 1;
    vectors.data += before;
    others.data += before * right.depth_stride;
    sum_depth<count, once, true, SINGLE>(sum, a, vectors, others, first_line, ROWS, first,
                                         min(body - first, a.share));
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
#pragma unroll
        for (int j = 0; j < count; j++) {
            sum[i][j] += i == own ? of_a * of_b[j] : 0.0f;
        }
    }
}

template <int count, bool once, bool spread>
GM_DEVICE void by_depth(const matmul_args &a, const matmul_factor &left, const matmul_factor &right,
                        const block_lines &lines, int64_t first, int64_t depth, float *out,
                        thin_sums<count> &shared)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, helper = warp & (a.helpers - 1);
    const int own_line = warp * a.tile_lines / LINES * ROWS; /* a block has LINES without helpers */
    const int64_t first_line = thin_line(lines, own_line);
    float sum[ROWS][count] = {};
    if (first_line < left.lines) {
        if (spread && right.depth_stride == 1) {
            matmul_factor near = right;
            near.depth_stride = 1; /* known to the compiler */
            sum_spread<count, once>(sum, a, left, near, first_line, first);
        } else if (spread) {
            sum_spread<count, once>(sum, a, left, right, first_line, first);
        } else if (!left.vectors || a.depth % 4 != 0) {
            sum_depth<count, once, false, SINGLE>(sum, a, left, right, first_line, 1, first, depth);
        } else if (right.vectors && right.along_depth) {
            sum_depth<count, once, true, STEPS>(sum, a, left, right, first_line, 1, first, depth);
        } else if (count == 4 && right.vectors && right.lines == 4) {
            sum_depth<count, once, true, SIDES>(sum, a, left, right, first_line, 1, first, depth);
        } else {
            sum_depth<count, once, true, SINGLE>(sum, a, left, right, first_line, 1, first, depth);
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
                shared.warps[j][helper * a.tile_lines + own_line + i] = sum[i][j];
            }
        }
    }
    add_warps(a, lines, a.helpers, out, shared);
}

#endif
