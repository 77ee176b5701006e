/*
 * How long a kernel takes for a stack of products, in cycles of a multiprocessor: the model by
 * which "auto" picks the kernel and the shares of the depth. Numbers only, of the device and the
 * shape.
 *
 *     time = latency + what is longest of, and more where they are alike:
 *         arithmetic   rounds of blocks on all multiprocessors; the last round may leave some idle
 *         memory       each number of the factors and the results once
 *         caches       what all blocks load, from the L2
 *     + shares > 1:  the launch that adds the sums, their bytes, and loads that wait for others
 *
 * A round takes as long as the resident blocks' work, of which each multiprocessor does so much per
 * cycle, or as one block that has it alone, whose warps wait for each other and for shared memory.
 * Where both are alike, work fills some of the waits: the sum of squares. Work is the products, the
 * numbers that are copied one by one, and the results that are stored. Small tiles have a low rate
 * and many blocks, large ones the opposite; shares make more blocks.
 *
 * At the edge of the matrix some warps of a block have nothing to do, and their schedulers idle, or
 * as many as no other block uses.
 *
 * Rounds are not alike:
 *     at the edge   blocks have less work. Multiprocessors get blocks in turn, and tiles are
 *                   in rows: some of them get full tiles only. Later, who is done takes more.
 *     at the end    blocks of a multiprocessor end together, so that the next ones start there
 *                   together, while others are idle.
 */
#ifndef GPUMEM_MATMUL_MODEL_H
#define GPUMEM_MATMUL_MODEL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sgemm/add_shares.h"

/* How a kernel copies the numbers of a factor: as vectors, or one by one, neighbours of which are
 * in different lines, or steps of the depth. */
typedef enum matmul_copy { MATMUL_BY_VECTORS, MATMUL_BY_LINES, MATMUL_BY_STEPS } matmul_copy;

typedef struct matmul_size {
    int64_t rows, columns, depth, products;
    double loads, stores; /* bytes: of the factors, each number once, and of the results */
    matmul_copy copy_rows, copy_columns;
    bool stores_vectors, turned; /* of the results: rows of vectors; written transposed */
    int multiprocessors;
    double memory; /* bytes per cycle of a multiprocessor that memory moves */
} matmul_size;

/* The tiles of a kernel, and its blocks. */
typedef struct matmul_shape {
    int height, width; /* of a tile */
    int rows, columns; /* the least of them that warps compute at the edge of a matrix */
    int teams;         /* tiles of a block */
    int blocks;        /* resident on a multiprocessor */
    int warps;         /* of a block */
    int stage;         /* steps that a block computes at a time, */
    int shares;        /* the most blocks that share the depth, */
    int cluster;       /* and the most that do so as a cluster */
} matmul_shape;

typedef struct matmul_pace {
    double rate;          /* products of two numbers per cycle, of a full multiprocessor; */
    double alone;         /* of one with a single block */
    double latency;       /* cycles of a call, apart from what blocks do one after the other */
    double setup;         /* of a block, while the others are slowed */
    double lines, steps;  /* cycles for a number that is copied by itself; */
    double scalar, turns; /* for a result that is not part of a vector; that is transposed */
    double idle;          /* 1: a block takes as long as its longest warp, 0: as all on average */
    double together;      /* 1: blocks of the last round start where others ended, 0: everywhere */
    double adding;        /* the launch that adds shares */
} matmul_pace;

typedef struct matmul_kernel {
    matmul_shape shape;
    matmul_pace pace;
} matmul_kernel;

/* Bytes per cycle and multiprocessor: what the L2 of an H200 moves. */
static const double MATMUL_CACHE = 32;
enum { MATMUL_LEAST_SHARE = 256 /* steps */ };

static inline int64_t matmul_divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* What takes both, where the shorter fills some of the waits of the longer. */
static inline double matmul_both(double a, double b)
{
    return sqrt(a * a + b * b);
}

/* ---- a block --------------------------------------------------------------------------------- */

/* The lines of one dimension in tiles: shares of one. */
typedef struct matmul_fill {
    double mean, full; /* that warps compute, in work: of all tiles, and of the fullest */
    double most;       /* of the longest warp of any */
    double exists;     /* in the matrix */
} matmul_fill;

/* A warp that has at most `least` lines, which are half of its own, makes half of the products, but
 * reads more than half of the numbers for them. */
static inline matmul_fill matmul_fill_of(int64_t lines, int of_tile, int least)
{
    static const double HALF = 0.6;
    const int of_warp = least < of_tile ? 2 * least : of_tile;
    const int64_t full = lines / of_tile, rest = lines % of_tile, warps = rest / of_warp;
    const int64_t left = rest % of_warp, tiles = full + (rest > 0);
    const double part = left == 0 ? 0 : left <= least && least < of_warp ? HALF : 1;
    const double each = (double)of_tile / of_warp;
    if (tiles == 0) {
        return (matmul_fill){1, 1, 1, 1};
    }
    const double mean = ((double)full * each + (double)warps + part) / (each * (double)tiles);
    return (matmul_fill){
        .mean = mean,
        .full = full > 0 ? 1 : mean,
        .most = full > 0 || warps > 0 ? 1 : part,
        .exists = (double)lines / (double)(tiles * of_tile),
    };
}

/* Cycles for a step's numbers of a factor in a tile. Those beyond the edge of the matrix are zeros,
 * which take longer than numbers that are copied. */
static inline double matmul_copies(const matmul_pace *pace, matmul_copy copy, int of_tile,
                                   double exists)
{
    static const double ZERO = 1.5;
    const double each = copy == MATMUL_BY_VECTORS ? 0
                        : copy == MATMUL_BY_LINES ? pace->lines
                                                  : pace->steps;
    return each * of_tile * (exists + ZERO * (1 - exists));
}

/* Cycles of a block: alone, and its part of a full multiprocessor's, of an average block and of the
 * fullest. */
typedef struct matmul_block {
    double alone, shared, fullest;
} matmul_block;

static inline matmul_block matmul_block_of(const matmul_kernel *kernel, const matmul_size *size,
                                           double steps)
{
    static const double VECTOR = 0.08; /* cycles for a result that is part of a vector */
    const matmul_shape *shape = &kernel->shape;
    const matmul_pace *pace = &kernel->pace;
    const matmul_fill rows = matmul_fill_of(size->rows, shape->height, shape->rows);
    const matmul_fill columns = matmul_fill_of(size->columns, shape->width, shape->columns);
    const double area = (double)shape->teams * shape->height * shape->width;
    const double products = steps * area, most = products * rows.most * columns.most;
    const double copies = matmul_copies(pace, size->copy_rows, shape->height, rows.exists) +
                          matmul_copies(pace, size->copy_columns, shape->width, columns.exists);
    const double result =
        (size->stores_vectors ? VECTOR : pace->scalar) + (size->turned ? pace->turns : 0);
    const double numbers =
        steps * shape->teams * copies + result * area * rows.exists * columns.exists;
    const double full = products * rows.full * columns.full;
    const double others = pace->setup + (most - full) * pace->idle / pace->rate + numbers;
    return (matmul_block){
        .alone = most / pace->alone + numbers,
        .shared = others + products * rows.mean * columns.mean / pace->rate,
        .fullest = others + full / pace->rate,
    };
}

/* ---- all blocks ------------------------------------------------------------------------------ */

/* Four schedulers share the warps of a multiprocessor: three pairs of warps take as long as four,
 * and blocks of a single warp as long as the next multiple of four of them. */
static inline int64_t matmul_by_schedulers(const matmul_kernel *kernel, int64_t blocks)
{
    enum { SCHEDULERS = 4 };
    const int64_t at_once = kernel->shape.warps < SCHEDULERS ? SCHEDULERS / kernel->shape.warps : 1;
    const int64_t whole = matmul_divide_up(blocks, at_once) * at_once;
    return whole < kernel->shape.blocks ? whole : kernel->shape.blocks;
}

/* For blocks of teams that sum `steps` steps each. */
static inline double matmul_arithmetic(const matmul_kernel *kernel, const matmul_size *size,
                                       int64_t blocks, double steps)
{
    static const double EVENER = 0.3; /* with each round */
    const int resident = kernel->shape.blocks;
    const int64_t slots = (int64_t)size->multiprocessors * resident;
    const int64_t rounds = blocks / slots, last = blocks % slots;
    const matmul_block block = matmul_block_of(kernel, size, steps);
    const double uneven = 1 / (1 + EVENER * (double)rounds);
    const double each = block.shared + (block.fullest - block.shared) * uneven;
    const double time = (double)rounds * matmul_both(resident * each, block.alone);
    if (last == 0) {
        return time;
    }
    const int64_t few = matmul_by_schedulers(kernel, matmul_divide_up(last, size->multiprocessors));
    const double together = rounds > 0 ? kernel->pace.together : 0;
    const double left = (double)few + (double)(resident - few) * together;
    return time + matmul_both(left * each, block.alone);
}

static inline int64_t matmul_tiles(const matmul_kernel *kernel, const matmul_size *size)
{
    return size->products * matmul_divide_up(size->rows, kernel->shape.height) *
           matmul_divide_up(size->columns, kernel->shape.width);
}

/* The launch that adds shares: the threads wait for loads, some of them at a time. In a cluster one
 * block reads the sums of another. */
static inline double matmul_adding(const matmul_kernel *kernel, const matmul_size *size,
                                   int64_t shares)
{
    static const double WAIT = 1000, MEET = 1700; /* cycles */
    if (shares <= kernel->shape.cluster) {
        return MEET;
    }
    const double of_thread = (double)shares / (double)(1 << add_shares_log_sharers(shares));
    const double bytes = size->stores * (double)(2 * shares);
    return kernel->pace.adding + WAIT * (of_thread - 1) / ADD_SHARES_LOADS +
           bytes / (MATMUL_CACHE * (double)size->multiprocessors);
}

/* With shares of `share` steps. A tile loads the lines that exist. */
static inline double matmul_time(const matmul_kernel *kernel, const matmul_size *size,
                                 int64_t share)
{
    const int64_t shares = matmul_divide_up(size->depth, share);
    const int64_t tiles_y = matmul_divide_up(size->rows, kernel->shape.height);
    const int64_t tiles_x = matmul_divide_up(size->columns, kernel->shape.width);
    const int64_t blocks =
        matmul_divide_up(matmul_tiles(kernel, size), kernel->shape.teams) * shares;
    const double steps = (double)matmul_divide_up(share, kernel->shape.stage) * kernel->shape.stage;
    const double lines =
        (double)tiles_x * (double)size->rows + (double)tiles_y * (double)size->columns;
    const double cached = 4 * lines * (double)size->depth * (double)size->products;
    const double per_cycle = size->multiprocessors;
    const double arithmetic = matmul_arithmetic(kernel, size, blocks, steps);
    const double memory = (size->loads + size->stores) / (size->memory * per_cycle);
    const double caches = cached / (MATMUL_CACHE * per_cycle);
    const double moved = matmul_both(memory, caches);
    const double time = kernel->pace.latency + matmul_both(arithmetic, moved);
    return shares <= 1 ? time : time + matmul_adding(kernel, size, shares);
}

/* The steps of a share that take least time, a multiple of `unit`; all steps if sharing gains
 * nothing. Tried are the numbers of shares that make a block for each multiprocessor, two, and so
 * on.
 */
static inline int64_t matmul_best_share(const matmul_kernel *kernel, const matmul_size *size,
                                        int64_t unit, double *time)
{
    const int64_t tiles = matmul_tiles(kernel, size);
    const int64_t blocks = matmul_divide_up(tiles > 0 ? tiles : 1, kernel->shape.teams);
    static const int each[] = {1, 2, 3, 4, 6, 8, 12, 16};
    int64_t best = size->depth > 0 ? size->depth : 1;
    *time = matmul_time(kernel, size, best);
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        const int64_t shares = each[i] * (int64_t)size->multiprocessors / blocks;
        if (shares < 2) {
            continue;
        }
        const int64_t fewer = shares < kernel->shape.shares ? shares : kernel->shape.shares;
        const int64_t even = matmul_divide_up(size->depth, fewer);
        const int64_t longer = even > MATMUL_LEAST_SHARE ? even : MATMUL_LEAST_SHARE;
        const int64_t share = matmul_divide_up(longer, unit) * unit;
        if (share >= size->depth) {
            break;
        }
        const double now = matmul_time(kernel, size, share);
        const double enough = best < size->depth ? 0.98 : 0.99;
        if (now < enough * *time) { /* else fewer shares: they take less memory */
            *time = now;
            best = share;
        }
    }
    return best;
}

#endif
