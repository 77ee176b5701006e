/*
 * matmul: how many blocks of thin share the depth, as a cluster or not, and how many lines a block
 * has.
 */
#include "matmul/plan_thin.h"

#include "backend/backend.h"
#include "matmul/plan_size.h"

enum { MOST_THIN = 256, THIN_RATE = 14 }; /* shares, and bytes per cycle of a block; */
enum { THIN_START = 500, THIN_ADDING = 9000, THIN_CLUSTER = 4500 }; /* cycles, as on an H100 */
static const double ALONE = 0.93; /* of the memory's rate: gaps between the batches of one block */
enum { FEW = 512 };               /* lines, of which a block may have as few as 16 */
enum { UNIT = 128 };              /* steps: a multiple of a warp's vectors */

bool matmul_thin_is_turned(const matmul_args *args)
{
    return args->a.lines < args->b.lines;
}

int64_t matmul_thin_sides(const matmul_args *args)
{
    return matmul_thin_is_turned(args) ? args->a.lines : args->b.lines;
}

/* Warps that share the depth of a line: as many as have a batch of loads each, in no more blocks
 * than are resident, two on each multiprocessor. */
static int thin_helpers(const matmul_size *size, const matmul_factor *matrix)
{
    int helpers = 1;
    while (matrix->along_depth && helpers < 8 && size->depth > INT64_C(2) * UNIT * helpers &&
           size->products * matmul_divide_up(matrix->lines * helpers * 2, MATMUL_THIN_LINES) <=
               2 * (int64_t)size->multiprocessors) {
        helpers *= 2;
    }
    return helpers;
}

/* Steps that all threads of a block together load at once; the loop over them. */
static int64_t thin_batch(const matmul_args *args)
{
    return args->a.along_depth ? INT64_C(2) * UNIT * args->helpers
                               : INT64_C(32) * MATMUL_THREADS / args->tile_lines;
}

/* Each of two resident blocks moves its bytes at up to THIN_RATE per cycle, a batch of loads after
 * another, all together at the speed of memory, which one block alone does not reach; a block that
 * starts waits for its first batch. */
static double thin_time(const matmul_size *size, const matmul_args *args)
{
    const int64_t processors = size->multiprocessors, batch = thin_batch(args);
    const int64_t split =
        size->depth > args->share ? matmul_divide_up(size->depth, args->share) : 1;
    const int64_t shares = args->cluster > 0 ? args->cluster : split;
    const int64_t blocks = size->products * args->tiles_y * shares, busy = blocks > 0 ? blocks : 1;
    const double rounds = (double)matmul_divide_up(busy, processors);
    const double padded = (double)(matmul_divide_up(args->share, batch) * batch);
    const double each = (args->a.along_depth ? 1 : padded / (double)args->share) *
                        (size->loads + size->stores) / (double)busy;
    const double memory = (rounds < 2 ? ALONE : 1) * size->memory * (double)processors;
    double time = matmul_longest((size->loads + size->stores) / memory,
                                 rounds * each / (THIN_RATE * (rounds < 2 ? 1 : 2)));
    time += MATMUL_LAUNCH + rounds * THIN_START;
    if (args->cluster > 0) {
        time += THIN_CLUSTER;
    } else if (shares > 1) {
        time +=
            THIN_ADDING + size->stores * 2 * (double)shares / (MATMUL_CACHE * (double)processors);
    }
    return time;
}

/* Takes about as many shares, as a cluster or not, if they are faster than *time. */
static void try_shares(const matmul_size *size, matmul_args *args, int64_t shares, bool cluster,
                       double *time)
{
    const int64_t batch = thin_batch(args), before = args->share;
    const int64_t unit = args->a.along_depth ? UNIT : batch / 8, cluster_before = args->cluster;
    const int64_t even = matmul_divide_up(size->depth, shares);
    const int64_t share = matmul_divide_up(even > batch ? even : batch, unit) * unit;
    if (share >= size->depth) {
        return;
    }
    const int64_t there = matmul_divide_up(size->depth, share);
    args->share = share;
    args->cluster = cluster ? (int)shares : 0;
    const double now = thin_time(size, args);
    if (there > MOST_THIN || (cluster && 2 * there <= shares) || now >= 0.97 * *time) {
        args->share = before;
        args->cluster = (int)cluster_before;
    } else {
        *time = now;
    }
}

/* The blocks over the lines, and the shares that take least time; returns the model's. A cluster
 * has up to `most` blocks. All of its blocks start together, so that there must be room for one
 * more: clusters do not fill every part of the device. */
static double plan_thin_lines(const matmul_size *size, int most, matmul_args *args, int tile_lines)
{
    const int64_t processors = size->multiprocessors;
    args->tile_lines = tile_lines;
    args->tiles_x = 1;
    args->tiles_y = matmul_divide_up(args->a.lines, args->tile_lines);
    args->share = size->depth > 0 ? size->depth : 1;
    args->cluster = 0;
    const int64_t blocks = size->products * args->tiles_y;
    double time = thin_time(size, args);
    for (int shares = 2; shares <= most; shares *= 2) {
        if ((blocks + 1) * shares <= 2 * processors) {
            try_shares(size, args, shares, true, &time);
        }
    }
    for (int each = 1; each <= 4; each++) { /* blocks of a multiprocessor */
        const int64_t shares = blocks > 0 ? each * processors / blocks : 1;
        if (shares > 1) {
            try_shares(size, args, shares, false, &time);
        }
    }
    return time;
}

/* Describes the call for thin; returns the model's time. Where few lines are contiguous, narrow
 * blocks may do without shares, or with fewer. */
double matmul_plan_thin(const gm_call *call, const matmul_size *size, matmul_args *args)
{
    const int blocks = call->device->cluster_blocks;
    const int most = blocks < MATMUL_THIN_CLUSTER ? blocks : MATMUL_THIN_CLUSTER;
    if (matmul_thin_is_turned(args)) {
        matmul_turn(args);
    }
    args->helpers = thin_helpers(size, &args->a);
    if (args->a.along_depth) {
        return plan_thin_lines(size, most, args, MATMUL_THIN_LINES / args->helpers);
    }
    static const int widths[] = {MATMUL_THIN_WIDE, MATMUL_THIN_LINES, MATMUL_THIN_NARROW};
    matmul_args best = *args;
    double least = plan_thin_lines(size, most, &best, MATMUL_THIN_WIDE);
    for (int i = 1; i < 3; i++) {
        const double time = plan_thin_lines(size, most, args, widths[i]);
        const bool fits =
            widths[i] > MATMUL_THIN_NARROW || (args->a.vectors && args->a.lines <= FEW);
        if (fits && (time < 0.97 * least || 2 * args->a.lines <= widths[i - 1])) {
            least = time;
            best = *args;
        }
    }
    *args = best;
    return least;
}
