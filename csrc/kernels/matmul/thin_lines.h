/* thin: sums of lines that are contiguous, steps apart. */
#ifndef GPUMEM_MATMUL_THIN_LINES_H
#define GPUMEM_MATMUL_THIN_LINES_H

#include "thin.h"

/* The number is loaded by here, not behind a later branch. */
GM_DEVICE void settle(float &number)
{
#ifdef __CUDACC__
    asm volatile("" : "+f"(number));
#else
    (void)number;
#endif
}

/* A thread's four lines of BATCH steps, `apart` from one to the next: neighbours as a vector, or
 * `lanes` apart, so that the lanes load neighbours. Of steps from `left` on the first one is loaded
 * instead, and not added: one loop is less code to fetch than a full one and a last one. */
template <int count, bool once, bool vectors>
GM_DEVICE void add_batch(float (&sum)[count][4], const matmul_factor &a, const matmul_factor &b,
                         const float *const (&line)[4], int64_t step, int apart, int left)
{
    const float *const side = b.data + step * b.depth_stride;
    int64_t at_a = step * a.depth_stride, at_b = 0;
    float of_a[BATCH][4], of_b[BATCH][count];
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        if (vectors) {
            const float4 four = thin_load<once>((const float4 *)(line[0] + at_a));
            of_a[i][0] = four.x, of_a[i][1] = four.y, of_a[i][2] = four.z, of_a[i][3] = four.w;
        } else {
#pragma unroll
            for (int n = 0; n < 4; n++) {
                of_a[i][n] = thin_load<once>(line[n] + at_a);
            }
        }
#pragma unroll
        for (int j = 0; j < count; j++) {
            of_b[i][j] = side[at_b + (j < b.lines ? j : 0) * b.line_stride];
        }
        const bool more = (i + 1) * apart < left;
        at_a = more ? at_a + apart * a.depth_stride : step * a.depth_stride;
        at_b = more ? at_b + apart * b.depth_stride : 0;
    }
#pragma unroll
    for (int n = 0; n < 4; n++) {
        settle(of_a[BATCH - 1][n]);
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        if (i * apart < left) {
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

/* Sums of the lines of a block, in shared memory: one warp after the other. Groups of lanes have
 * the same lines, and other steps. */
template <int count, bool once, bool vectors>
GM_DEVICE void sum_lines(const matmul_args &a, const matmul_factor &left,
                         const matmul_factor &right, const block_lines &lines, int64_t first,
                         int64_t depth, thin_sums<count> &shared)
{
    const int log_lanes = a.log_lines - 2, lanes = 1 << log_lanes;
    const int groups = MATMUL_THREADS >> log_lanes;
    const int lane = threadIdx.x & (lanes - 1), group = threadIdx.x >> log_lanes;
    const float *line[4];
    float sum[count][4] = {};
#pragma unroll
    for (int n = 0; n < 4; n++) { /* those that do not exist: the last ones */
        const int own =
            vectors ? min(lane * 4, lines.count - 4) : min(lane + n * lanes, lines.count - 1);
        line[n] = left.data + (lines.first + own) * left.line_stride;
    }
    const int64_t end = first + depth;
#pragma unroll 1
    for (int64_t step = first + group; step < end; step += BATCH * groups) {
        const int some = (int)min(end - step, (int64_t)BATCH * groups);
        add_batch<count, once, vectors>(sum, left, right, line, step, groups, some);
    }
#pragma unroll 1
    for (int apart = lanes; apart < 32; apart *= 2) { /* the groups of a warp */
#pragma unroll
        for (int j = 0; j < count; j++) {
#pragma unroll
            for (int n = 0; n < 4; n++) {
                sum[j][n] += __shfl_xor_sync(~0u, sum[j][n], apart);
            }
        }
    }
    if ((int)threadIdx.x % 32 >= lanes) {
        return;
    }
#pragma unroll
    for (int j = 0; j < count; j++) {
        float *to = shared.warps[j] + threadIdx.x / 32 * a.tile_lines;
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

/* The same for 32 lines that are not aligned: eight lanes that load a row's numbers one by one
 * would touch each sector several times. A lane has one line, a warp 32 steps, and each lane loads
 * the right-hand sides of one of them for all. */
template <int count, bool once>
GM_DEVICE void sum_single_lines(const matmul_factor &left, const matmul_factor &right,
                                const block_lines &lines, int64_t first, int64_t depth,
                                thin_sums<count> &shared)
{
    const int lane = threadIdx.x % 32, own = min(lane, lines.count - 1);
    const float *line = left.data + (lines.first + own) * left.line_stride;
    const int64_t end = first + depth;
    float sum[count] = {};
#pragma unroll 1
    for (int64_t step = first + threadIdx.x - lane; step < end; step += MATMUL_THREADS) {
        const int some = (int)min(end - step, (int64_t)32);
        const float *side = right.data + (step + min(lane, some - 1)) * right.depth_stride;
        float of_a[32], of_b[count];
#pragma unroll
        for (int j = 0; j < count; j++) {
            of_b[j] = side[(j < right.lines ? j : 0) * right.line_stride];
        }
#pragma unroll
        for (int i = 0; i < 32; i++) {
            of_a[i] = thin_load<once>(line + (step + (i < some ? i : 0)) * left.depth_stride);
        }
#pragma unroll
        for (int i = 0; i < 32; i++) {
#pragma unroll
            for (int j = 0; j < count; j++) {
                const float b = __shfl_sync(~0u, of_b[j], i);
                sum[j] += i < some ? of_a[i] * b : 0.0f;
            }
        }
    }
#pragma unroll
    for (int j = 0; j < count; j++) {
        shared.warps[j][threadIdx.x] = sum[j];
    }
}

template <int count, bool once>
GM_DEVICE void by_lines(const matmul_args &a, const matmul_factor &left, const matmul_factor &right,
                        const block_lines &lines, int64_t first, int64_t depth, float *out,
                        thin_sums<count> &shared)
{
    if (left.vectors && lines.count % 4 == 0) {
        sum_lines<count, once, true>(a, left, right, lines, first, depth, shared);
    } else if (a.tile_lines == LINES) {
        sum_single_lines<count, once>(left, right, lines, first, depth, shared);
    } else {
        sum_lines<count, once, false>(a, left, right, lines, first, depth, shared);
    }
    add_warps(a, lines, WARPS, out, shared);
}

#endif
