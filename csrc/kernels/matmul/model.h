/*
 * How long a kernel takes for a stack of products, in cycles of a multiprocessor: the model by
 * which "auto" picks the kernel and the shares of the depth. Numbers only, of the device and the
 * shape.
 *
 *     time = launch + the longest of
 *         arithmetic   rounds of blocks on all multiprocessors; the last round may leave some idle
 *         memory       each number of the factors and the results once
 *         caches       what all blocks load, from the L2
 *     + shares > 1:  the launch that adds the sums, and their bytes
 *
 * A round is as long as the resident blocks' setup, and their products at full rate, or as one
 * block takes by itself: its latency, and its products at the rate of a block that has the
 * multiprocessor alone. Numbers that are copied one by one add to both. Small tiles have a low rate
 * and many blocks, large ones the opposite; shares make more blocks.
 */
#ifndef GPUMEM_MATMUL_MODEL_H
#define GPUMEM_MATMUL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct matmul_size {
    int64_t rows, columns, depth, products;
    double loads, stores; /* bytes: of the factors, each number once, and of the results */
    bool single_rows, single_columns; /* numbers are not copied by fours, but one by one */
    int multiprocessors;
    double memory; /* bytes per cycle of a multiprocessor that memory moves */
} matmul_size;

typedef struct matmul_pace {
    int height, width; /* of a tile */
    int rows, columns; /* the least of them that warps compute at the edge of a matrix */
    int teams;         /* tiles of a block */
    int blocks;        /* resident on a multiprocessor */
    int warps;         /* of a block */
    double rate;       /* products of two numbers per cycle, of a full multiprocessor; */
    double alone;      /* of one with a single block */
    double latency;    /* from the start of a block to its first product, and to its result; */
    double setup;      /* the part of it in which the other blocks are slowed */
    double single;     /* cycles for a number that is copied by itself */
    double adding;     /* the launch that adds shares */
    int64_t least;     /* steps of a share */
    int most;          /* shares */
} matmul_pace;

/* Bytes per cycle and multiprocessor: what the L2 of an H200 moves. */
static const double MATMUL_CACHE = 24;
enum { MATMUL_LAUNCH = 3000 };

static inline int64_t matmul_divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static inline double matmul_longest(double a, double b)
{
    return a > b ? a : b;
}

/* Lines of a tile whose numbers are copied one by one; twice as many at the edge of a matrix, where
 * each number is asked whether it exists. */
static inline double matmul_single(bool single, int64_t lines, int of_tile)
{
    const int64_t full = lines / of_tile;
    const double whole = (double)full / (double)matmul_divide_up(lines, of_tile);
    return single ? of_tile * (2 - whole) : 0;
}

/* Lines that warps compute: at the edge of a matrix not all of a tile. */
static inline double matmul_computed(int64_t lines, int of_tile, int least)
{
    const int64_t rest = lines % of_tile;
    return (double)(lines - rest + matmul_divide_up(rest, least) * least);
}

/* The share of a tile that is computed, on average. */
static inline double matmul_filled(const matmul_pace *pace, const matmul_size *size)
{
    const double rows = matmul_computed(size->rows, pace->height, pace->rows);
    const double columns = matmul_computed(size->columns, pace->width, pace->columns);
    const int64_t tiles =
        matmul_divide_up(size->rows, pace->height) * matmul_divide_up(size->columns, pace->width);
    return tiles == 0 ? 1 : rows * columns / ((double)tiles * pace->height * pace->width);
}

/* Of a block that has the multiprocessor alone: its longest warp has half of its lines, or all. */
static inline double matmul_longest_warp(int64_t lines, int of_tile, int least)
{
    return lines <= least && least < of_tile ? 0.5 : 1;
}

/* Four schedulers share the warps of a multiprocessor: three pairs of warps take as long as four,
 * and blocks of a single warp as long as the next multiple of four of them. */
static inline int64_t matmul_by_schedulers(const matmul_pace *pace, int64_t blocks)
{
    enum { SCHEDULERS = 4 };
    const int64_t at_once = pace->warps < SCHEDULERS ? SCHEDULERS / pace->warps : 1;
    const int64_t whole = matmul_divide_up(blocks, at_once) * at_once;
    return whole < pace->blocks ? whole : pace->blocks;
}

/* For blocks of teams that sum `steps` steps each. */
static inline double matmul_arithmetic(const matmul_pace *pace, const matmul_size *size,
                                       int64_t blocks, double steps)
{
    const int64_t slots = (int64_t)size->multiprocessors * pace->blocks;
    const int64_t rounds = blocks / slots, last = blocks % slots;
    const double lines = matmul_single(size->single_rows, size->rows, pace->height) +
                         matmul_single(size->single_columns, size->columns, pace->width);
    const double products = steps * pace->teams * pace->height * pace->width;
    const double single = steps * pace->teams * lines * pace->single;
    const double longest = products * matmul_longest_warp(size->rows, pace->height, pace->rows) *
                           matmul_longest_warp(size->columns, pace->width, pace->columns);
    const double alone = pace->latency + longest / pace->alone + single;
    const double filled = products * matmul_filled(pace, size);
    const double shared = pace->setup + filled / pace->rate + single;
    const double round = matmul_longest(pace->blocks * shared, alone);
    const int64_t most = matmul_by_schedulers(pace, matmul_divide_up(last, size->multiprocessors));
    const double rest = last == 0 ? 0 : matmul_longest((double)most * shared, alone);
    return (double)rounds * round + rest;
}

static inline int64_t matmul_tiles(const matmul_pace *pace, const matmul_size *size)
{
    return size->products * matmul_divide_up(size->rows, pace->height) *
           matmul_divide_up(size->columns, pace->width);
}

/* With shares of `share` steps. */
static inline double matmul_time(const matmul_pace *pace, const matmul_size *size, int64_t share)
{
    const int64_t shares = matmul_divide_up(size->depth, share);
    const int64_t tiles = matmul_tiles(pace, size);
    const int64_t blocks = matmul_divide_up(tiles, pace->teams) * shares;
    const double steps = (double)matmul_divide_up(share, 8) * 8;
    const double cached = (double)tiles * (double)size->depth * 4 * (pace->height + pace->width);
    const double per_cycle = size->multiprocessors;
    double time = matmul_arithmetic(pace, size, blocks, steps);
    time = matmul_longest(time, (size->loads + size->stores) / (size->memory * per_cycle));
    time = matmul_longest(time, cached / (MATMUL_CACHE * per_cycle)) + MATMUL_LAUNCH;
    if (shares > 1) {
        time += pace->adding + size->stores * (double)(2 * shares) / (MATMUL_CACHE * per_cycle);
    }
    return time;
}

/* The steps of a share that take least time, a multiple of `unit`; all steps if sharing gains
 * nothing. Tried are the numbers of shares that make a block for each multiprocessor, two, and so
 * on.
 */
static inline int64_t matmul_best_share(const matmul_pace *pace, const matmul_size *size,
                                        int64_t unit, double *time)
{
    const int64_t tiles = matmul_tiles(pace, size);
    const int64_t blocks = matmul_divide_up(tiles > 0 ? tiles : 1, pace->teams);
    static const int each[] = {1, 2, 3, 4, 6, 8, 12, 16};
    int64_t best = size->depth > 0 ? size->depth : 1;
    *time = matmul_time(pace, size, best);
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        const int64_t shares = each[i] * (int64_t)size->multiprocessors / blocks;
        if (shares < 2) {
            continue;
        }
        const int64_t fewer = shares < pace->most ? shares : pace->most;
        const int64_t even = matmul_divide_up(size->depth, fewer);
        const int64_t longer = even > pace->least ? even : pace->least;
        const int64_t share = matmul_divide_up(longer, unit) * unit;
        if (share >= size->depth) {
            break;
        }
        const double now = matmul_time(pace, size, share);
        if (now < 0.97 * *time) { /* a smaller gain is within the error of the model */
            *time = now;
            best = share;
        }
    }
    return best;
}

#endif
