/*
 * matmul / narrow: a matrix and 5 to 32 vectors. Each number of the matrix is loaded once.
 *
 * Follows  tiles, which copies numbers one by one where the depth is contiguous.
 * Idea     the matrix is what takes time. One block loads each of its numbers, as part of a vector
 *          where runs begin at multiples of 16 bytes, and the L2 does not keep it. In shared memory
 *          it lies as it does in memory, so that vectors serve both layouts. A thread has up to
 *          128 sums, for which it reads 8 numbers of the matrix and 16 of the vectors.
 * Groups   the four warps of a block share the steps of each stage; their sums are added in the
 *          end, always in the same order.
 * Banks    runs are 4 numbers longer in shared memory than in the tile: lanes that read vectors of
 *          neighbouring lines have other banks. Of registers, as in sgemm's warp_tile.
 * Build    nvcc -Xptxas=-O1
 * Machine  LDGSTS.128, LDS.128, FFMA
 *
 *     depth contiguous:   128 runs of 32 steps, of which a lane has lines l, l + 16, ...
 *     lines contiguous:   32 runs of 128 lines, of which a lane has vectors of 4
 */
#include "bulk.h"
#include "copy_policy.h"
#include "sgemm/banks.h"
#include "tiles.h"

enum {
    LINES = MATMUL_NARROW_LINES,
    THREADS = MATMUL_NARROW_THREADS,
    GROUPS = THREADS / 32,
    STEPS = 32, /* of a stage */
    PER = STEPS / GROUPS,
    STAGES = 3,
    PITCH = 4, /* numbers that a run is longer in shared memory */
};

/* `count` vectors; those that do not exist count as zeros. Copies handle 16 or 32 of them. Lanes
 * have four lines and all vectors, or in two halves of a warp eight lines and half of the vectors.
 */
template <int count_> struct narrow_shape {
    static constexpr int count = count_, width = count <= 16 ? 16 : 32;
    static constexpr int halves = count > 8 ? 2 : 1, across = 32 / halves;
    static constexpr int each = LINES / across, columns = count / halves; /* of a thread */
    static constexpr int threads = THREADS, steps = STEPS;
    static constexpr int unrolled = count == 24 ? PER / 4 : 1; /* else it lacks registers */
    static constexpr int matrix = LINES * (STEPS + PITCH), pitch = width + PITCH;
    static constexpr int floats = matrix + STEPS * pitch; /* of a stage */
    typedef tiles_left<LINES, count, GROUPS, THREADS, false, true> by_rows;
    typedef tiles_left<LINES, count, GROUPS, THREADS, true> by_columns;
    static constexpr int sums = GROUPS * by_rows::sums;
    static constexpr int used = STAGES * floats > sums ? STAGES *floats : sums;
    static constexpr int room = used + 4 * THREADS; /* a quad for each thread, see banks.h */
    static_assert(STEPS * (LINES + PITCH) <= matrix, "either way the matrix has room");
    static_assert(by_columns::sums <= by_rows::sums, "and so have the sums");
};

/* ---- copy ------------------------------------------------------------------------------------ */

/* What a thread copies of the matrix: `wide` numbers of runs, along the depth or the lines. */
template <bool along, int wide> struct narrow_part {
    static constexpr int run = along ? STEPS : LINES, runs = along ? LINES : STEPS;
    static constexpr int across = run / wide, apart = THREADS / across, pitch = run + PITCH;
};

/* Where a thread copies its first number of the next stage. */
typedef struct narrow_source {
    const float *at;
    int within, run;
    int lines;              /* of the tile: fewer at the edge of the matrix */
    int64_t apart, advance; /* elements from run to run, and from stage to stage */
} narrow_source;

template <bool along, int wide>
GM_DEVICE narrow_source narrow_find(const matmul_factor &x, int64_t first_line, int64_t first_step)
{
    typedef narrow_part<along, wide> part;
    narrow_source source;
    source.within = threadIdx.x % part::across * wide;
    source.run = threadIdx.x / part::across;
    const int line = along ? source.run : source.within, step = along ? source.within : source.run;
    source.at = x.data + (first_line + line) * x.line_stride + (first_step + step) * x.depth_stride;
    source.lines = (int)min(x.lines - first_line, (int64_t)LINES);
    source.apart = part::apart * (along ? x.line_stride : x.depth_stride);
    source.advance = STEPS * x.depth_stride;
    return source;
}

/* Unless `whole`, `left` steps exist and not all lines; zeros take the place of the others. */
template <bool along, int wide, bool whole>
GM_DEVICE void narrow_copy_some(float *stage, const narrow_source &source, int left,
                                uint64_t policy)
{
    typedef narrow_part<along, wide> part;
    constexpr int bytes = wide * (int)sizeof(float);
    const int in_run = (along ? left : source.lines) - source.within;
    const int runs = (along ? source.lines : left) - source.run;
    const int some = min(max(in_run * (int)sizeof(float), 0), bytes);
    float *to = stage + source.run * part::pitch + source.within;
    const float *from = source.at;
#pragma unroll
    for (int i = 0; i < part::runs; i += part::apart) {
        gm_copy_async_by<bytes>(to + i * part::pitch, from,
                                whole      ? bytes
                                : i < runs ? some
                                           : 0,
                                policy);
        from += source.apart;
    }
}

template <bool along, int wide>
GM_DEVICE void narrow_copy_by(float *stage, const narrow_source &source, int left, uint64_t policy)
{
    if (source.lines == LINES && left >= STEPS) {
        narrow_copy_some<along, wide, true>(stage, source, left, policy);
    } else {
        narrow_copy_some<along, wide, false>(stage, source, left, policy);
    }
}

template <bool along>
GM_DEVICE void narrow_copy(float *stage, const matmul_factor &x, narrow_source &source, int left,
                           uint64_t policy)
{
    if (x.vectors) {
        narrow_copy_by<along, 4>(stage, source, left, policy);
    } else {
        narrow_copy_by<along, 1>(stage, source, left, policy);
    }
    source.at += source.advance;
}

/* ---- compute --------------------------------------------------------------------------------- */

/* Where a thread's lines and columns begin. */
template <typename shape> GM_DEVICE int narrow_lane(void)
{
    return threadIdx.x % 32 / shape::halves;
}

template <typename shape> GM_DEVICE int narrow_column(void)
{
    return threadIdx.x % shape::halves * shape::columns;
}

/* The number of a thread's i-th line in the tile. */
template <typename shape, bool along> GM_DEVICE int narrow_line(int i)
{
    const int lane = narrow_lane<shape>();
    return along ? lane + i * shape::across : lane * 4 + i / 4 * (4 * shape::across) + i % 4;
}

GM_DEVICE void narrow_read_quad(float *held, const float *from)
{
    const float4 four = *(const float4 *)from;
    held[0] = four.x, held[1] = four.y, held[2] = four.z, held[3] = four.w;
}

/* Four steps of the thread's i-th line. */
template <typename shape> GM_DEVICE void narrow_read_steps(float *held, const float *matrix, int i)
{
    narrow_read_quad(held + 4 * i, matrix + narrow_line<shape, true>(i) * (STEPS + PITCH));
}

/* The thread's lines of one step. */
template <typename shape> GM_DEVICE void narrow_read_lines(float *held, const float *matrix)
{
#pragma unroll
    for (int i = 0; i < shape::each; i += 4) {
        narrow_read_quad(held + i, matrix + narrow_line<shape, false>(i));
    }
}

template <typename shape> GM_DEVICE void narrow_read_vectors(float *held, const float *vectors)
{
#pragma unroll
    for (int j = 0; j < shape::columns; j += 4) {
        narrow_read_quad(held + j, vectors + j);
    }
}

/* The products of step k of four, in an order in which they hardly wait for registers. The last one
 * reads the next four steps of each line into the registers that it has just used. */
template <typename shape, bool along>
GM_DEVICE void narrow_multiply_step(float (&sum)[shape::each][shape::columns], float *of_a,
                                    const float (&of_b)[shape::columns], int k, const float *next)
{
#pragma unroll
    for (int i = 0; i < shape::each; i++) {
        const float of_line = of_a[along ? 4 * i + k : k % 2 * shape::each + i];
#pragma unroll
        for (int n = 0; n < shape::columns; n++) {
            const int to = banks_nth<shape::columns>(i, n, along ? k % 2 : 0, along ? k % 2 : 1);
            sum[i][to] += of_line * of_b[to ^ 1];
        }
        if (along && k == 3) {
            narrow_read_steps<shape>(of_a, next, i);
        }
    }
}

/* The group's steps of a stage, by fours: short code. The numbers of a step are read while the one
 * before is computed; after the last one the same are read once more, for nothing. */
template <typename shape, bool along>
GM_DEVICE void narrow_multiply(float (&sum)[shape::each][shape::columns], const float *stage)
{
    constexpr int of_step = along ? 1 : LINES + PITCH;
    const int first = threadIdx.x / 32 * PER;
    const float *matrix = stage + first * of_step;
    const float *vectors = stage + shape::matrix + first * shape::pitch + narrow_column<shape>();
    float of_a[(along ? 4 : 2) * shape::each], of_b[2][shape::columns];
    narrow_read_vectors<shape>(of_b[0], vectors);
    if (!along) {
        narrow_read_lines<shape>(of_a, matrix);
    } else {
#pragma unroll
        for (int i = 0; i < shape::each; i++) {
            narrow_read_steps<shape>(of_a, matrix, i);
        }
    }
#pragma unroll shape::unrolled
    for (int left = PER - 4; left >= 0; left -= 4) {
        const int on = left > 0 ? 4 : 0;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int then = k < 3 ? k + 1 : on;
            narrow_read_vectors<shape>(of_b[(k + 1) % 2], vectors + then * shape::pitch);
            if (!along) {
                narrow_read_lines<shape>(of_a + (k + 1) % 2 * shape::each, matrix + then * of_step);
            }
            narrow_multiply_step<shape, along>(sum, of_a, of_b[k % 2], k, matrix + on * of_step);
        }
        matrix += on * of_step;
        vectors += on * shape::pitch;
    }
}

template <typename shape, bool along>
GM_DEVICE void narrow_sum(float (&sum)[shape::each][shape::columns], float *shared,
                          const matmul_factor &a, const matmul_factor &b, int64_t line,
                          int64_t first, int64_t depth, uint64_t policy)
{
    constexpr int ahead = STAGES - 1;
    narrow_source from_a =
        a.vectors ? narrow_find<along, 4>(a, line, first) : narrow_find<along, 1>(a, line, first);
    tiles_source from_b = tiles_begin<shape, shape::width>(b, 0, first, threadIdx.x);
    float *const end = shared + STAGES * shape::floats;
    float *now = shared, *next = shared;
    int64_t left = depth; /* that are not being copied yet */

#pragma unroll 1
    for (int i = -ahead; depth > 0; i++) {
        if (i >= 0) {
            gm_pipeline_wait_prior<ahead - 1>();
            __syncthreads();
        }
        if (left > 0) {
            const int some = (int)min(left, (int64_t)STEPS);
            narrow_copy<along>(next, a, from_a, some, policy);
            tiles_copy<shape, shape::width>(next + shape::matrix, b, from_b, some);
            left -= STEPS;
            next = next + shape::floats == end ? shared : next + shape::floats;
        }
        __pipeline_commit();
        if (i >= 0) {
            if (depth > (int)threadIdx.x / 32 * PER) { /* else the group has no step of the last */
                narrow_multiply<shape, along>(sum, now);
            }
            depth -= STEPS;
            now = now + shape::floats == end ? shared : now + shape::floats;
        }
    }
}

/* ---- the product ----------------------------------------------------------------------------- */

/* A thread leaves its sums, for those of all groups to be added. */
template <typename shape, bool along>
GM_DEVICE void narrow_leave(float *shared, const float (&sum)[shape::each][shape::columns])
{
    typedef typename shape::by_rows left;
    shared += threadIdx.x / 32 * left::sums + narrow_column<shape>();
#pragma unroll
    for (int i = 0; i < shape::each; i++) {
        float *to = shared + narrow_line<shape, along>(i) * left::pitch;
#pragma unroll
        for (int j = 0; j < shape::columns; j += 4) {
            banks_leave_quad(&sum[i][j], (float4 *)(to + j));
        }
    }
}

template <typename shape, bool along>
GM_DEVICE void narrow_leave_columns(float *shared, const float (&sum)[shape::each][shape::columns],
                                    float4 *own)
{
    typedef typename shape::by_columns left;
    shared += threadIdx.x / 32 * left::sums + narrow_column<shape>() * left::pitch;
#pragma unroll
    for (int i = 0; i < shape::each; i++) {
        float *to = shared + narrow_line<shape, along>(i);
#pragma unroll
        for (int j = 0; j < shape::columns; j += 4) {
            float four[4];
            banks_in_order(four, &sum[i][j], own);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                to[(j + k) * left::pitch] = four[k];
            }
        }
    }
}

template <typename shape, bool along>
GM_DEVICE void narrow_lines(const matmul_args &args, const matmul_factor &a, const matmul_factor &b,
                            int64_t line, float *shared)
{
    const int64_t first = blockIdx.y * args.share;
    const uint64_t policy = args.once ? gm_evict_first() : gm_evict_last();
    float4 *const own = (float4 *)(shared + shape::used) + threadIdx.x;
    float sum[shape::each][shape::columns];
    *own = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < shape::each * shape::columns; i += 4) {
        banks_take_quad(&sum[i / shape::columns][i % shape::columns], own);
    }
    narrow_sum<shape, along>(sum, shared, a, b, line, first, min(args.depth - first, args.share),
                             policy);
    __syncthreads(); /* all have read the last stage */
    if (args.turned) {
        narrow_leave_columns<shape, along>(shared, sum, own);
    } else {
        narrow_leave<shape, along>(shared, sum);
    }
}

/* along: the depth of the matrix is contiguous. */
template <typename shape, bool along> GM_DEVICE void narrow(const matmul_args &args, float *shared)
{
    const unsigned tiles = (unsigned)args.tiles_y; /* fit: see the ladder's hook */
    const unsigned product = blockIdx.x / tiles;
    const int64_t line = blockIdx.x % tiles * (int64_t)LINES;
    matmul_factor a, b;

    gm_wait_for_previous();
    gm_let_next_start();
    matmul_go_to(args, product, &a, &b);
    narrow_lines<shape, along>(args, a, b, line, shared);
    __syncthreads();
    float *out = args.out + blockIdx.y * args.partial + product * a.lines * b.lines;
    if (args.turned) {
        tiles_write_some<typename shape::by_columns, true>(args, out, line, 0, shared, threadIdx.x);
    } else {
        tiles_write_some<typename shape::by_rows, false>(args, out, line, 0, shared, threadIdx.x);
    }
}

#define FITS(count)                                                                                \
    static_assert(narrow_shape<count>::room * 4 == MATMUL_BYTES_narrow_##count,                    \
                  "the ladder says how much")
FITS(8);
FITS(16);
FITS(24);
FITS(32);

/* A kernel for each layout: one with both is so long that calls wait for its instructions. */
#define WAY(name, count, blocks, along)                                                            \
    GM_KERNEL_BOUNDED(matmul_narrow_##name, matmul_args, THREADS, blocks)                          \
    {                                                                                              \
        GM_DYNAMIC_SHARED(float, shared);                                                          \
        narrow<narrow_shape<count>, along>(a, shared);                                             \
    }
#define WAYS(count, blocks)                                                                        \
    WAY(count, count, blocks, true)                                                                \
    WAY(count##_lines, count, blocks, false)
WAYS(8, 3)
WAYS(16, 3)
WAYS(24, 3)
WAYS(32, 2)
