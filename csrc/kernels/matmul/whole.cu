/*
 * matmul / whole: small matrices, each of which the bulk copy engine brings as a whole.
 *
 * Follows  tiles, whose threads copy the numbers of odd rows one by one.
 * Idea     a matrix without gaps is one piece of memory, whatever its sides: one instruction brings
 *          it. A block has a product. The engine of a multiprocessor serves its blocks in turn, so
 *          that the first one computes while the next ones' matrices are on their way.
 * Threads  8 x 8 or 8 x 16, of which each has every eighth row of a result, and every eighth or
 *          sixteenth column. They leave their sums in shared memory, in rows of one length whatever
 *          the result's, so that no thread asks which it has: code is short, as it comes from
 *          memory, too.
 * Panels   rows of A whose depth is contiguous are one piece of memory as well, and so are columns
 *          of such a B: where a result is larger than the instance's, blocks have a part of it.
 * Edges    the engine moves multiples of 16 bytes from addresses that are multiples of 16; threads
 *          move the up to three numbers at either end. Lines that do not exist are read like
 *          others, from what lies there: hence the zeros behind the factors.
 * Banks    odd sides have no conflicts. Where the depth is contiguous, lines whose length is a
 *          multiple of 8 have.
 * Machine  UBLKCP, SYNCS, LDS, FFMA
 *
 *     shared memory:   A, as it lies in memory | B | zeros    then there:   sums
 */
#include "bulk.h"
#include "matmul/matmul.h"

enum { DOWN = MATMUL_WHOLE_DOWN, NEAR = MATMUL_WHOLE_NEAR, ACROSS = MATMUL_WHOLE_ACROSS };
enum { FEW = DOWN * NEAR, MANY = DOWN * ACROSS }; /* threads of a block */

/* The rows and columns of a thread, and the threads along a row of the result. */
template <int rows_, int columns_, int across_> struct whole_shape {
    static constexpr int rows = rows_, columns = columns_, across = across_;
    static constexpr int threads = DOWN * across, height = DOWN * rows, width = across * columns;
    static constexpr int pitch = MATMUL_WHOLE_PITCH(width, across); /* of rows of sums */
    static constexpr int zeros = height > width ? height : width;
};

/* Where an array of `count` numbers at `global` begins in shared memory at `room`: as far behind a
 * multiple of 16 bytes as in global memory. The engine moves `body` numbers, from `head` on. */
typedef struct whole_array {
    float *at;
    int count, head, body;
} whole_array;

GM_DEVICE whole_array whole_place(float *room, const float *global, int count)
{
    whole_array x;
    const int past = (int)((uintptr_t)global / sizeof *global % 4);
    x.at = room + past;
    x.count = count;
    x.head = min(count, (4 - past) % 4);
    x.body = (count - x.head) & ~3;
    return x;
}

/* The ends are moved by the first threads of two warps. */
GM_DEVICE void whole_load(const whole_array &x, const float *global, gm_mbarrier *full,
                          uint64_t policy)
{
    const int thread = threadIdx.x, tail = x.head + x.body;
    if (thread == 0 && x.body > 0) {
        gm_bulk_load(x.at + x.head, global + x.head, x.body * (uint32_t)sizeof(float), full,
                     policy);
    }
    if (thread < x.head) {
        x.at[thread] = global[thread];
    } else if (thread >= 32 && thread - 32 < x.count - tail) {
        x.at[tail + thread - 32] = global[tail + thread - 32];
    }
}

/* Lines first, first + apart, ... of a factor in shared memory. */
template <int each, int apart_, bool along> struct whole_lines {
    static constexpr int apart = apart_;
    const float *line[along ? each : 1];
    int next; /* numbers from step to step */
};

template <int each, int apart, bool along>
GM_DEVICE whole_lines<each, apart, along> whole_every(const float *at, int first, int lines,
                                                      int depth)
{
    whole_lines<each, apart, along> x;
    x.next = along ? 1 : lines;
#pragma unroll
    for (int i = 0; i < (along ? each : 1); i++) {
        x.line[i] = at + (along ? min(first + i * apart, lines - 1) * depth : first);
    }
    return x;
}

/* Moves on by so many steps. The places are kept in registers, rather than worked out anew. */
template <int each, int apart, bool along>
GM_DEVICE void whole_advance(whole_lines<each, apart, along> &x, int steps)
{
#pragma unroll
    for (int i = 0; i < (along ? each : 1); i++) {
        x.line[i] += steps * x.next;
    }
}

/* The numbers of the step that is `ahead`. */
template <int each, int apart, bool along>
GM_DEVICE void whole_read(float (&to)[each], const whole_lines<each, apart, along> &x, int ahead)
{
#pragma unroll
    for (int i = 0; i < each; i++) {
        to[i] = along ? x.line[along ? i : 0][ahead] : x.line[0][ahead * x.next + i * apart];
    }
}

template <typename shape> struct whole_step {
    float a[shape::rows], b[shape::columns];
};

template <typename shape, typename lines_a, typename lines_b>
GM_DEVICE void whole_load_step(whole_step<shape> &x, const lines_a &left, const lines_b &right,
                               int ahead)
{
    whole_read(x.a, left, ahead);
    whole_read(x.b, right, ahead);
}

template <typename shape>
GM_DEVICE void whole_add(float (&sum)[shape::rows][shape::columns], const whole_step<shape> &x)
{
#pragma unroll
    for (int i = 0; i < shape::rows; i++) {
#pragma unroll
        for (int j = 0; j < shape::columns; j++) {
            sum[i][j] += x.a[i] * x.b[j];
        }
    }
}

/* Loads a step while the one before is added. The last load is of what lies behind the factors. */
template <typename shape, typename lines_a, typename lines_b>
GM_DEVICE void whole_sums(float (&sum)[shape::rows][shape::columns], lines_a left, lines_b right,
                          int depth)
{
    enum { STEPS = 4 };
    whole_step<shape> even, odd;
    if (depth > 0) {
        whole_load_step(even, left, right, 0);
    }
#pragma unroll 1
    for (; depth >= STEPS; depth -= STEPS) {
#pragma unroll
        for (int step = 0; step < STEPS; step += 2) {
            whole_load_step(odd, left, right, step + 1);
            whole_add<shape>(sum, even);
            if (step + 2 == STEPS) {
                whole_advance(left, STEPS);
                whole_advance(right, STEPS);
            }
            whole_load_step(even, left, right, (step + 2) % STEPS);
            whole_add<shape>(sum, odd);
        }
    }
#pragma unroll 1
    for (; depth > 0; depth--) {
        whole_load_step(odd, left, right, 1);
        whole_add<shape>(sum, even);
        whole_advance(left, 1);
        whole_advance(right, 1);
        even = odd;
    }
}

/* Adds up and leaves the sums in shared memory; ends with a barrier. */
template <typename shape, bool along_a, bool along_b>
GM_DEVICE void whole_product(const float *a, const float *b, int rows, int columns, int depth,
                             float *sums)
{
    const int x = threadIdx.x % shape::across, y = threadIdx.x / shape::across;
    float sum[shape::rows][shape::columns] = {};
    whole_sums<shape>(sum, whole_every<shape::rows, DOWN, along_a>(a, y, rows, depth),
                      whole_every<shape::columns, shape::across, along_b>(b, x, columns, depth),
                      depth);
    float *to = sums + y * shape::pitch + x;
    __syncthreads(); /* both factors have been read */
#pragma unroll
    for (int i = 0; i < shape::rows; i++) {
#pragma unroll
        for (int j = 0; j < shape::columns; j++) {
            to[i * DOWN * shape::pitch + j * shape::across] = sum[i][j];
        }
    }
    __syncthreads();
}

/* Neighbours write neighbours of the result, whose rows are `stride` numbers apart. */
template <typename shape>
GM_DEVICE void whole_store(const float *sums, float *out, int rows, int columns, int stride)
{
    const int count = rows * columns;
    const int rows_on = shape::threads / columns, columns_on = shape::threads % columns;
    int row = threadIdx.x / columns, column = threadIdx.x % columns;
#pragma unroll 2
    for (int i = threadIdx.x; i < count; i += shape::threads) {
        out[(int64_t)row * stride + column] = sums[row * shape::pitch + column];
        row += rows_on;
        column += columns_on;
        if (column >= columns) {
            column -= columns;
            row++;
        }
    }
}

/* The lines of a factor that a block has: panel number `index` of so many. */
struct whole_panel {
    int first, lines;
};

GM_DEVICE whole_panel whole_find_panel(int lines, int index, int panels)
{
    whole_panel panel = {0, lines};
    if (panels > 1) {
        const int each = MATMUL_WHOLE_PANEL(lines, panels);
        panel.first = index * each;
        panel.lines = max(min(each, lines - panel.first), 0);
    }
    return panel;
}

template <typename shape> GM_DEVICE void whole(const matmul_args &args)
{
    GM_DYNAMIC_SHARED(float, shared);
    __shared__ gm_mbarrier full;
    const int across = (int)args.tiles_x, down = (int)args.tiles_y, depth = (int)args.depth;
    const whole_panel rows = whole_find_panel((int)args.a.lines, blockIdx.y % down, down);
    const whole_panel columns = whole_find_panel((int)args.b.lines, blockIdx.y / down, across);
    const int thread = threadIdx.x;
    const int64_t product = blockIdx.x;
    matmul_factor left, right;
    if (thread == 0) {
        gm_mbarrier_init(&full);
    }
    gm_wait_for_previous();
    gm_let_next_start();
    if (rows.lines == 0 || columns.lines == 0) {
        return;
    }
    matmul_go_to(args, product, &left, &right);
    left.data += (int64_t)rows.first * depth; /* others than the first are contiguous */
    right.data += (int64_t)columns.first * depth;
    const whole_array a = whole_place(shared, left.data, rows.lines * depth);
    float *behind_a = shared + MATMUL_WHOLE_ROOM(rows.lines * depth);
    const whole_array b = whole_place(behind_a, right.data, columns.lines * depth);
    const uint64_t policy = args.once ? gm_evict_first() : gm_evict_last();
    if (thread == 0) {
        gm_mbarrier_expect(&full, (uint32_t)(a.body + b.body) * (uint32_t)sizeof(float));
    }
    whole_load(a, left.data, &full, policy);
    whole_load(b, right.data, &full, policy);
    if (a.at + a.count + thread < b.at) {
        a.at[a.count + thread] = 0;
    }
    for (int i = thread; i < shape::zeros; i += shape::threads) {
        b.at[b.count + i] = 0;
    }
    __syncthreads();
    gm_mbarrier_wait(&full, 0);

    if (left.along_depth && right.along_depth) {
        whole_product<shape, true, true>(a.at, b.at, rows.lines, columns.lines, depth, shared);
    } else if (left.along_depth) {
        whole_product<shape, true, false>(a.at, b.at, rows.lines, columns.lines, depth, shared);
    } else if (right.along_depth) {
        whole_product<shape, false, true>(a.at, b.at, rows.lines, columns.lines, depth, shared);
    } else {
        whole_product<shape, false, false>(a.at, b.at, rows.lines, columns.lines, depth, shared);
    }
    const int stride = (int)args.b.lines;
    float *const out =
        args.out + product * args.a.lines * stride + (int64_t)rows.first * stride + columns.first;
    whole_store<shape>(shared, out, rows.lines, columns.lines, stride);
}

/* Rows and columns of a thread, threads along a row. */
GM_KERNEL_BOUNDED(matmul_whole_16, matmul_args, FEW, 20)
{
    whole<whole_shape<2, 2, NEAR>>(a);
}

GM_KERNEL_BOUNDED(matmul_whole_32, matmul_args, FEW, 16)
{
    whole<whole_shape<4, 4, NEAR>>(a);
}

GM_KERNEL_BOUNDED(matmul_whole_48, matmul_args, FEW, 10)
{
    whole<whole_shape<6, 6, NEAR>>(a);
}

GM_KERNEL_BOUNDED(matmul_whole_32x96, matmul_args, MANY, 6)
{
    whole<whole_shape<4, 6, ACROSS>>(a);
}

GM_KERNEL_BOUNDED(matmul_whole_96x32, matmul_args, MANY, 6)
{
    whole<whole_shape<12, 2, ACROSS>>(a);
}

GM_KERNEL_BOUNDED(matmul_whole_80x80, matmul_args, MANY, 4)
{
    whole<whole_shape<10, 5, ACROSS>>(a);
}
