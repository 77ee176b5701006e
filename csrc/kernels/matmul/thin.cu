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
 *          lines are, a warp has 128 of them (or 32 or 16, if there are few), and other warps have
 *          other steps.
 * Shares   where there are too few lines for all multiprocessors, several blocks share the depth.
 *          If they are a cluster, each sends its sums to the shared memory of the first, which
 *          adds them, always in the same order: otherwise that takes a launch, of add_shares. The
 *          mbarrier of the first block knows how many bytes will arrive, so that nobody needs a
 *          fence.
 * Machine  LDG.E.128, STAS (st.async.shared::cluster)
 *
 *     depth contiguous                       lines contiguous
 *     line 0   lanes 0 1 2 ... 31  0 1       step 0     warp 0, lanes 0 ... 31     128 lines
 *     line 1   lanes 0 1 2 ... 31  0 1       step 1     warp 1
 *     line 2   ...                           step 8     warp 0
 */
#include "matmul.h"

#include "cluster.h"

enum { ROWS = MATMUL_THIN_ROWS, LINES = MATMUL_THIN_LINES, WIDE = MATMUL_THIN_WIDE };
enum { PART = 4 * 32, BATCH = 8, WARPS = MATMUL_THREADS / 32, BLOCKS = MATMUL_THIN_CLUSTER };

/* In shared memory, for each right-hand side: the sums of the warps of a block, and in the first
 * block of a cluster those of all its blocks, which arrive there. */
template <int count> struct thin_sums {
    float warps[count][WARPS * WIDE];
    float blocks[count][BLOCKS * WIDE];
    gm_mbarrier arrived;
};

/* Lines of a block: the first one, how many exist, and how many right-hand sides they have. */
typedef struct block_lines {
    int64_t first;
    int count, sides;
} block_lines;

/* Where the result of a line and a right-hand side is: a has the lines, whichever was given first.
 */
GM_DEVICE int64_t thin_element(const matmul_args &a, int64_t line, int side)
{
    return a.turned ? side * a.a.lines + line : line * a.b.lines + side;
}

/* The sum of a line's parts, `stride` apart, in this order. */
GM_DEVICE float add_in_order(const float *part, int parts, int stride)
{
    float total = 0.0f;
#pragma unroll 8
    for (int i = 0; i < parts; i++) {
        total += part[i * stride];
    }
    return total;
}

/* ---- blocks that share the depth as a cluster ------------------------------------------------ */

#if GM_HAS_CLUSTERS
/* The first block expects the sums of all. No block sends its own before all have arrived. */
template <int count>
GM_DEVICE void expect_blocks(const matmul_args &a, const block_lines &lines,
                             thin_sums<count> &shared)
{
    if (threadIdx.x == 0 && blockIdx.y == 0) {
        gm_mbarrier_init(&shared.arrived);
        gm_cluster_mbarrier_fence();
        gm_mbarrier_expect(&shared.arrived,
                           (uint32_t)(a.cluster * lines.count * lines.sides) * sizeof(float));
    }
    __syncwarp();
    gm_cluster_arrive();
}

template <int count>
GM_DEVICE void send_sum(float sum, int line, int side, thin_sums<count> &shared)
{
    gm_cluster_send(gm_cluster_address(&shared.blocks[side][blockIdx.y * WIDE + line], 0), sum,
                    gm_cluster_address(&shared.arrived, 0));
}

/* In the first block, which other blocks need until they have sent all their sums. */
template <int count, int most>
GM_DEVICE void add_blocks(const matmul_args &a, const block_lines &lines, float *out,
                          thin_sums<count> &shared)
{
    gm_mbarrier_wait(&shared.arrived, 0);
#pragma unroll 1
    for (int i = threadIdx.x; i < count * most; i += MATMUL_THREADS) {
        const int line = i % most, side = i / most;
        if (line < lines.count && side < lines.sides) {
            out[thin_element(a, lines.first + line, side)] =
                add_in_order(&shared.blocks[side][line], a.cluster, WIDE);
        }
    }
}
#endif

/* Adds what the warps of a block have summed: `parts` for each of its lines, of which there is room
 * for `stride`, at most `most`. */
template <int count, int most>
GM_DEVICE void add_warps(const matmul_args &a, const block_lines &lines, int parts, int stride,
                         float *out, thin_sums<count> &shared)
{
    __syncthreads();
#if GM_HAS_CLUSTERS
    if (a.cluster > 0) {
        gm_cluster_wait();
    }
#endif
#pragma unroll 1
    for (int i = threadIdx.x; i < count * most; i += MATMUL_THREADS) {
        const int line = i % most, side = i / most;
        if (line >= lines.count || side >= lines.sides) {
            continue;
        }
        const float total = add_in_order(&shared.warps[side][line], parts, stride);
#if GM_HAS_CLUSTERS
        if (a.cluster > 0) {
            send_sum(total, line, side, shared);
            continue;
        }
#endif
        out[thin_element(a, lines.first + line, side)] = total;
    }
#if GM_HAS_CLUSTERS
    if (a.cluster > 0 && blockIdx.y == 0) {
        add_blocks<count, most>(a, lines, out, shared);
    }
#endif
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
                        const block_lines &lines, int64_t first, int64_t depth, float *out,
                        thin_sums<count> &shared)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, helper = warp % a.helpers;
    const int own_line = warp / a.helpers * ROWS;
    const int64_t first_line = lines.first + own_line;
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
                shared.warps[j][helper * a.tile_lines + own_line + i] = sum[i][j];
            }
        }
    }
    add_warps<count, LINES>(a, lines, a.helpers, a.tile_lines, out, shared);
}

/* ---- lines contiguous ------------------------------------------------------------------------ */

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
template <int count, bool vectors, int lanes>
GM_DEVICE void add_batch(float (&sum)[count][4], const matmul_factor &a, const matmul_factor &b,
                         const float *const (&line)[4], int64_t step, int left)
{
    constexpr int apart = MATMUL_THREADS / lanes;
    float of_a[BATCH][4], of_b[BATCH][count];
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        const int64_t at = step + (i * apart < left ? i * apart : 0);
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

/* Sums of the lines of a block, in shared memory: one warp after the other. */
template <int count, bool vectors, int lanes>
GM_DEVICE void sum_lines(const matmul_factor &left, const matmul_factor &right,
                         const block_lines &lines, int64_t first, int64_t depth,
                         thin_sums<count> &shared)
{
    constexpr int groups = MATMUL_THREADS / lanes;
    const int lane = threadIdx.x % lanes, group = threadIdx.x / lanes;
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
        add_batch<count, vectors, lanes>(sum, left, right, line, step, some);
    }
#pragma unroll
    for (int j = 0; j < count; j++) {
#pragma unroll
        for (int n = 0; n < 4; n++) { /* groups of a warp have the same lines */
#pragma unroll
            for (int apart = lanes; apart < 32; apart *= 2) {
                sum[j][n] += __shfl_xor_sync(~0u, sum[j][n], apart);
            }
        }
        float *to = shared.warps[j] + threadIdx.x / 32 * 4 * lanes;
        if (threadIdx.x % 32 >= lanes) {
            continue;
        }
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
template <int count>
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
            of_a[i] = line[(step + (i < some ? i : 0)) * left.depth_stride];
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

template <int count, int lanes>
GM_DEVICE void by_lines(const matmul_args &a, const matmul_factor &left, const matmul_factor &right,
                        const block_lines &lines, int64_t first, int64_t depth, float *out,
                        thin_sums<count> &shared)
{
    constexpr int most = 4 * lanes;
    if (left.vectors && lines.count % 4 == 0) {
        sum_lines<count, true, lanes>(left, right, lines, first, depth, shared);
    } else if (lanes == 8) {
        sum_single_lines<count>(left, right, lines, first, depth, shared);
    } else {
        sum_lines<count, false, lanes>(left, right, lines, first, depth, shared);
    }
    add_warps<count, most>(a, lines, WARPS, most, out, shared);
}

/* ---- the product ----------------------------------------------------------------------------- */

template <int count> GM_DEVICE void thin_product(const matmul_args &a, thin_sums<count> &shared)
{
    const unsigned blocks = (unsigned)a.tiles_y;
    const unsigned product = blockIdx.x / blocks, block = blockIdx.x % blocks;
    const int64_t begin = (int64_t)block * a.tile_lines;
    const block_lines lines = {begin, (int)min(a.a.lines - begin, (int64_t)a.tile_lines),
                               (int)a.b.lines};
    const int64_t first = blockIdx.y * a.share, depth = min(a.depth - first, a.share);
    matmul_factor left, right;
#if GM_HAS_CLUSTERS
    if (a.cluster > 0) {
        expect_blocks(a, lines, shared);
    }
#endif
    gm_wait_for_previous();
    gm_let_next_start();
    matmul_go_to(a, product, &left, &right);
    float *out = a.out + blockIdx.y * a.partial + product * left.lines * right.lines;
    if (left.along_depth) {
        by_depth<count>(a, left, right, lines, first, depth, out, shared);
    } else if (a.tile_lines == WIDE) {
        by_lines<count, 32>(a, left, right, lines, first, depth, out, shared);
    } else if (a.tile_lines == LINES) {
        by_lines<count, 8>(a, left, right, lines, first, depth, out, shared);
    } else {
        by_lines<count, 4>(a, left, right, lines, first, depth, out, shared);
    }
}

GM_KERNEL_BOUNDED(matmul_thin_one, matmul_args, MATMUL_THREADS, 2)
{
    __shared__ __align__(16) thin_sums<1> shared;
    thin_product<1>(a, shared);
}

GM_KERNEL_BOUNDED(matmul_thin_two, matmul_args, MATMUL_THREADS, 2)
{
    __shared__ __align__(16) thin_sums<2> shared;
    thin_product<2>(a, shared);
}

GM_KERNEL_BOUNDED(matmul_thin_four, matmul_args, MATMUL_THREADS, 2)
{
    __shared__ __align__(16) thin_sums<4> shared;
    thin_product<4>(a, shared);
}
