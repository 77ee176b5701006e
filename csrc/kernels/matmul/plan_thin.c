/*
 * matmul: how many blocks of thin share the depth, as a cluster or not, and how many lines a block
 * has.
 */
#include "matmul/plan_thin.h"

#include <math.h>

#include "backend/backend.h"
#include "l2_policy.h"
#include "matmul/plan_size.h"

/* How long a block takes, in cycles as on an H100: one that has its multiprocessor alone, and one
 * of a pair. A third one adds as much as the second. */
typedef struct thin_pace {
    double start;               /* the launch, the first loads and the result */
    double alone, paired;       /* a batch of loads */
    double second;              /* once, if any block is one of a pair */
    double single, single_line; /* part of a batch more, for numbers that are loaded one by one; the
                                   same in blocks of 32 lines that are contiguous */
    double cluster;             /* for sums that are sent to another block */
    double adding;              /* for the launch that adds shares */
    double memory;              /* of the rate at which copies move bytes, */
    double narrow;              /* slower by this for each block more to 128 lines, */
    double clustered;           /* and by this in clusters */
} thin_pace;

/* Fitted to 150 products of random sizes on an H100, by 10 to 30 plans each. */
static const thin_pace DEPTH_CONTIGUOUS = {
    .start = 3450,
    .alone = 1180,
    .paired = 2720,
    .second = 510,
    .single = 0.32,
    .cluster = 810,
    .adding = 4400,
    .memory = 0.995,
};
static const thin_pace LINES_CONTIGUOUS = {
    .start = 2520,
    .alone = 1450,
    .paired = 2180,
    .second = 1070,
    .single = 0.02,
    .single_line = 0.48,
    .cluster = 1040,
    .adding = 4490,
    .memory = 1.065,
    .narrow = 0.037,
    .clustered = 0.08,
};

enum { MOST_THIN = 256 };          /* shares */
enum { UNIT = 128 };               /* steps: a multiple of a warp's vectors */
static const double SUMS_RATE = 2; /* bytes per cycle and multiprocessor: sums written and added */
static const double OVERLAP = 0.9; /* of the time of blocks that start while others end */

bool matmul_thin_is_turned(const matmul_args *args)
{
    return args->a.lines < args->b.lines;
}

int64_t matmul_thin_sides(const matmul_args *args)
{
    return matmul_thin_is_turned(args) ? args->a.lines : args->b.lines;
}

/* Steps that all threads of a block together load at once; the loop over them. */
static int64_t thin_batch(const matmul_args *args)
{
    return args->a.along_depth
               ? INT64_C(2) * UNIT * args->helpers
               : INT64_C(1) * MATMUL_THIN_BATCH * (MATMUL_THREADS / (args->tile_lines / 4));
}

/* Of a block. */
static double thin_batches(const matmul_size *size, const matmul_args *args, const thin_pace *pace)
{
    const bool along = args->a.along_depth;
    const bool vectors = args->spread || (args->a.vectors && (!along || size->depth % 4 == 0));
    const bool line = !along && args->tile_lines == MATMUL_THIN_LINES;
    const double single = vectors ? 0 : line ? pace->single_line : pace->single;
    return (double)matmul_divide_up(args->share, thin_batch(args)) * (1 + single);
}

/* That all blocks move, as if at the rate of copies. */
static double thin_bytes(const matmul_size *size, const matmul_args *args, const thin_pace *pace)
{
    const double narrow = pace->narrow * ((double)MATMUL_THIN_WIDE / args->tile_lines - 1);
    const double clustered = args->cluster > 0 ? pace->clustered : 0;
    return (size->loads + size->stores) / pace->memory * (1 + narrow) * (1 + clustered);
}

/* Of blocks that run at once: what takes longer, their batches or their bytes, and more where both
 * take about as long. */
static double thin_wave(const thin_pace *pace, const matmul_size *size, double blocks,
                        double batches, double each)
{
    const double processors = size->multiprocessors;
    const double paired = blocks <= processors ? 0 : blocks / processors - 1;
    const double latency = batches * (pace->alone + (pace->paired - pace->alone) * paired);
    const double memory = blocks * each / (size->memory * processors);
    const double a = latency * latency, b = memory * memory;
    return sqrt(sqrt(a * a + b * b));
}

static double thin_time(const matmul_size *size, const matmul_args *args)
{
    const thin_pace *pace = args->a.along_depth ? &DEPTH_CONTIGUOUS : &LINES_CONTIGUOUS;
    const int64_t resident = MATMUL_THIN_RESIDENT(args->spread, args->b.lines);
    const int64_t processors = size->multiprocessors, slots = resident * processors;
    const int64_t split =
        size->depth > args->share ? matmul_divide_up(size->depth, args->share) : 1;
    const int64_t shares = args->cluster > 0 ? args->cluster : split;
    const int64_t blocks = size->products * args->tiles_y * shares;
    const int64_t full = blocks / slots, last = blocks % slots;
    const double batches = thin_batches(size, args, pace);
    const double each = thin_bytes(size, args, pace) / (double)(blocks > 0 ? blocks : 1);
    double time = pace->start + (blocks > processors ? pace->second : 0);
    if (full > 0) {
        time += thin_wave(pace, size, (double)slots, batches, each) *
                (1 + OVERLAP * (double)(full - 1));
    }
    if (last > 0) {
        time += thin_wave(pace, size, (double)last, batches, each) * (full > 0 ? OVERLAP : 1);
    }
    if (args->cluster > 0) {
        time += pace->cluster;
    } else if (shares > 1) {
        time += pace->adding + size->stores * 2 * (double)shares / (SUMS_RATE * (double)processors);
    }
    return time;
}

/* Takes about as many shares, as a cluster or not, if they are faster than *time. */
static void try_shares(const matmul_size *size, matmul_args *args, int64_t shares, bool cluster,
                       double *time)
{
    const int64_t batch = thin_batch(args), before = args->share;
    const int64_t unit = args->a.along_depth ? UNIT : batch / MATMUL_THIN_BATCH,
                  cluster_before = args->cluster;
    const int64_t share = matmul_divide_up(matmul_divide_up(size->depth, shares), unit) * unit;
    if (share >= size->depth) {
        return;
    }
    const int64_t there = matmul_divide_up(size->depth, share);
    args->share = share;
    args->cluster = cluster ? (int)shares : 0;
    const double now = thin_time(size, args);
    if (there > MOST_THIN || (cluster && 2 * there <= shares) || now >= *time) {
        args->share = before;
        args->cluster = (int)cluster_before;
    } else {
        *time = now;
    }
}

/* The blocks over the lines, and the shares that take least time; returns the model's. A cluster
 * has up to `most` blocks, which start together. One of eight leaves a part of a processing cluster
 * of 18 multiprocessors idle, so that there must be room for more. More blocks may share the depth
 * where clusters are too few for all multiprocessors, or where a launch that adds shares is little
 * beside what clusters lose. */
static double plan_thin_lines(const matmul_size *size, int most, matmul_args *args, int tile_lines)
{
    const int64_t processors = size->multiprocessors;
    args->tile_lines = tile_lines;
    args->log_lines = 0;
    while (1 << args->log_lines < tile_lines) {
        args->log_lines++;
    }
    args->tiles_x = 1;
    args->tiles_y = matmul_divide_up(
        args->spread ? matmul_divide_up(args->a.lines, MATMUL_THIN_SPREAD) * MATMUL_THIN_SPREAD
                     : args->a.lines,
        tile_lines);
    args->share = size->depth > 0 ? size->depth : 1;
    args->cluster = 0;
    const int64_t blocks = size->products * args->tiles_y;
    double time = thin_time(size, args);
    for (int shares = 2; shares <= most; shares *= 2) {
        if ((blocks + shares / 2 - 1) * shares <= 2 * processors) {
            try_shares(size, args, shares, true, &time);
        }
    }
    static const double ENOUGH = 0.97; /* of the model's time: it is not more exact */
    const bool all_busy = blocks * most >= processors; /* with clusters */
    const double limit = all_busy ? ENOUGH * time : time;
    double others = limit;
    for (int each = 1; each <= 4 && blocks > 0; each *= 2) {
        const int64_t shares = each * processors / blocks;
        if (shares > 1) {
            try_shares(size, args, shares, false, &others);
        }
    }
    return others < limit ? others : time;
}

/* Plans for one of several shapes of blocks, and keeps the plan if it is the fastest. */
static void try_lines(const matmul_size *size, int most, matmul_args *args, int tile_lines,
                      matmul_args *best, double *least)
{
    const double time = plan_thin_lines(size, most, args, tile_lines);
    if (*least == 0 || time < *least) {
        *least = time;
        *best = *args;
    }
}

/* Lines that are contiguous but no aligned vectors; a few are not worth groups of 16. */
static bool is_spread(const matmul_args *args)
{
    return args->a.along_depth && args->a.depth_stride == 1 &&
           args->a.lines >= MATMUL_THIN_SPREAD && !(args->a.vectors && args->depth % 4 == 0);
}

/* Describes the call for thin; returns the model's time. Where the depth is contiguous, helpers are
 * the warps that share a line's; each must have a batch of its own. */
double matmul_plan_thin(const gm_call *call, const matmul_size *size, matmul_args *args)
{
    const int blocks = call->device->cluster_blocks;
    const int most = blocks < MATMUL_THIN_CLUSTER ? blocks : MATMUL_THIN_CLUSTER;
    /* Of single calls on an H200, with up to two vectors and more. */
    static const double AROUND = 7200, SLOWER[] = {1.085, 1.24};
    matmul_args best;
    double least = 0;
    if (matmul_thin_is_turned(args)) {
        matmul_turn(args);
    }
    args->once = matmul_a_is_read_once(args) && gm_evict_first_of_l2(call->device, size->loads);
    args->helpers = 1;
    args->spread = is_spread(args);
    if (args->a.along_depth) {
        for (int helpers = 1; helpers <= 8; helpers *= 2) {
            if (helpers == 1 || size->depth > INT64_C(1) * UNIT * helpers) {
                args->helpers = helpers;
                try_lines(size, most, args, MATMUL_THIN_LINES / helpers, &best, &least);
            }
        }
    } else {
        for (int lines = MATMUL_THIN_NARROW; lines <= MATMUL_THIN_WIDE; lines *= 2) {
            const bool wide = lines == MATMUL_THIN_LINES || lines == MATMUL_THIN_WIDE;
            if (args->a.vectors || wide) {
                try_lines(size, most, args, lines, &best, &least);
            }
        }
    }
    *args = best;
    return AROUND + SLOWER[matmul_thin_sides(args) > 2] * least;
}
