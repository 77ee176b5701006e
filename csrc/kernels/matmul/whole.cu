/*
 * matmul / whole: small matrices, each of which the bulk copy engine brings as a whole.
 *
 * Follows  tiles, whose threads copy the numbers of odd rows one by one.
 * Idea     a matrix without gaps is one piece of memory, whatever its sides: one instruction brings
 *          it. A block has a product. The engine of a multiprocessor serves its blocks in turn, so
 *          that the first one computes while the next ones' matrices are on their way.
 * Threads  8 x 8, of which each has every eighth row and column of a result. They leave their sums
 *          in shared memory, in rows of one length whatever the result's, so that no thread asks
 *          which it has: code is short, as it comes from memory, too.
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

enum { SIDE = MATMUL_WHOLE_SIDE, THREADS = MATMUL_WHOLE_THREADS };

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

/* Lines first, first + 8, ... of a factor in shared memory. */
template <int each, bool along> struct whole_lines {
    const float *line[along ? each : 1];
    int apart; /* numbers from step to step */
};

template <int each, bool along>
GM_DEVICE whole_lines<each, along> whole_every(const float *at, int first, int lines, int depth)
{
    whole_lines<each, along> x;
    x.apart = along ? 1 : lines;
#pragma unroll
    for (int i = 0; i < (along ? each : 1); i++) {
        x.line[i] = at + (along ? min(first + i * SIDE, lines - 1) * depth : first);
    }
    return x;
}

template <int each, bool along>
GM_DEVICE void whole_read(float (&to)[each], const whole_lines<each, along> &x, int step)
{
#pragma unroll
    for (int i = 0; i < each; i++) {
        to[i] = along ? x.line[along ? i : 0][step] : x.line[0][step * x.apart + i * SIDE];
    }
}

/* The numbers of one step. */
template <int each> struct whole_step {
    float a[each], b[each];
};

template <int each, bool along_a, bool along_b>
GM_DEVICE void whole_load_step(whole_step<each> &x, const whole_lines<each, along_a> &left,
                               const whole_lines<each, along_b> &right, int step)
{
    whole_read(x.a, left, step);
    whole_read(x.b, right, step);
}

template <int each> GM_DEVICE void whole_add(float (&sum)[each][each], const whole_step<each> &x)
{
#pragma unroll
    for (int i = 0; i < each; i++) {
#pragma unroll
        for (int j = 0; j < each; j++) {
            sum[i][j] += x.a[i] * x.b[j];
        }
    }
}

/* Loads a step while the one before is added. */
template <int each, bool along_a, bool along_b>
GM_DEVICE void whole_sums(float (&sum)[each][each], const whole_lines<each, along_a> &left,
                          const whole_lines<each, along_b> &right, int depth)
{
    whole_step<each> even, odd;
    int step = 0;
    if (depth > 0) {
        whole_load_step(even, left, right, 0);
    }
#pragma unroll 1
    for (; step + 1 < depth; step += 2) {
        whole_load_step(odd, left, right, step + 1);
        whole_add(sum, even);
        whole_load_step(even, left, right, min(step + 2, depth - 1));
        whole_add(sum, odd);
    }
    if (step < depth) {
        whole_add(sum, even);
    }
}

/* Adds up and leaves the sums in shared memory; ends with a barrier. */
template <int each, bool along_a, bool along_b>
GM_DEVICE void whole_product(const float *a, const float *b, int rows, int columns, int depth,
                             float *sums)
{
    enum { ACROSS = each * SIDE + MATMUL_WHOLE_GAP };
    const int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
    float sum[each][each] = {};
    whole_sums<each, along_a, along_b>(sum, whole_every<each, along_a>(a, y, rows, depth),
                                       whole_every<each, along_b>(b, x, columns, depth), depth);
    float *to = sums + y * ACROSS + x;
    __syncthreads(); /* both factors have been read */
#pragma unroll
    for (int i = 0; i < each; i++) {
#pragma unroll
        for (int j = 0; j < each; j++) {
            to[(i * ACROSS + j) * SIDE] = sum[i][j];
        }
    }
    __syncthreads();
}

/* Neighbours write neighbours of the result. */
template <int each> GM_DEVICE void whole_store(const float *sums, float *out, int rows, int columns)
{
    enum { ACROSS = each * SIDE + MATMUL_WHOLE_GAP };
    const int count = rows * columns, rows_on = THREADS / columns, columns_on = THREADS % columns;
    int row = threadIdx.x / columns, column = threadIdx.x % columns;
#pragma unroll 2
    for (int i = threadIdx.x; i < count; i += THREADS) {
        out[i] = sums[row * ACROSS + column];
        row += rows_on;
        column += columns_on;
        if (column >= columns) {
            column -= columns;
            row++;
        }
    }
}

template <int each> GM_DEVICE void whole(const matmul_args &args)
{
    GM_DYNAMIC_SHARED(float, shared);
    __shared__ gm_mbarrier full;
    const int rows = (int)args.a.lines, columns = (int)args.b.lines, depth = (int)args.depth;
    const int thread = threadIdx.x;
    const int64_t product = blockIdx.x;
    matmul_factor left, right;
    if (thread == 0) {
        gm_mbarrier_init(&full);
    }
    gm_wait_for_previous();
    gm_let_next_start();
    matmul_go_to(args, product, &left, &right);
    const whole_array a = whole_place(shared, left.data, rows * depth);
    float *behind_a = shared + MATMUL_WHOLE_ROOM(rows * depth);
    const whole_array b = whole_place(behind_a, right.data, columns * depth);
    const uint64_t policy = args.once ? gm_evict_first() : gm_evict_last();
    if (thread == 0) {
        gm_mbarrier_expect(&full, (uint32_t)(a.body + b.body) * (uint32_t)sizeof(float));
    }
    whole_load(a, left.data, &full, policy);
    whole_load(b, right.data, &full, policy);
    if (a.at + a.count + thread < b.at) {
        a.at[a.count + thread] = 0;
    }
    if (thread < MATMUL_WHOLE_ZEROS) {
        b.at[b.count + thread] = 0;
    }
    __syncthreads();
    gm_mbarrier_wait(&full, 0);

    if (left.along_depth && right.along_depth) {
        whole_product<each, true, true>(a.at, b.at, rows, columns, depth, shared);
    } else if (left.along_depth) {
        whole_product<each, true, false>(a.at, b.at, rows, columns, depth, shared);
    } else if (right.along_depth) {
        whole_product<each, false, true>(a.at, b.at, rows, columns, depth, shared);
    } else {
        whole_product<each, false, false>(a.at, b.at, rows, columns, depth, shared);
    }
    whole_store<each>(shared, args.out + product * rows * columns, rows, columns);
}

GM_KERNEL_BOUNDED(matmul_whole_16, matmul_args, THREADS, 24)
{
    whole<16 / SIDE>(a);
}

GM_KERNEL_BOUNDED(matmul_whole_32, matmul_args, THREADS, 16)
{
    whole<32 / SIDE>(a);
}

GM_KERNEL_BOUNDED(matmul_whole_48, matmul_args, THREADS, 12)
{
    whole<48 / SIDE>(a);
}
