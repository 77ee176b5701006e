/*
 * Where the tiles of C leave multiprocessors idle, several blocks share one: each has so many
 * stages of the depth, and their sums are added up. How many is best, in numbers alone.
 */
#ifndef GPUMEM_SGEMM_SHARES_H
#define GPUMEM_SGEMM_SHARES_H

#include <stdbool.h>
#include <stdint.h>

/* What takes how long, in the time in which a busy multiprocessor computes a stage of a tile. */
typedef struct sgemm_pace {
    int blocks;    /* at once on a multiprocessor */
    double alone;  /* a stage of a block that has one for itself: nobody computes while it waits */
    double around; /* a block's first stages, and its result */
    double adding; /* the launch of the kernel that adds up */
    double bytes;  /* that memory moves in that time */
} sgemm_pace;

enum { MOST_SHARES = 32, TRIALS = 16 };
static const double WORTH = 0.98; /* a gain of less is not sure */

static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* So many blocks with so many stages each, of which the last round may leave multiprocessors with a
 * single one. */
static double time_of_rounds(const sgemm_pace *pace, int64_t multiprocessors, int64_t blocks,
                             double stages)
{
    const int64_t slots = multiprocessors * pace->blocks, last = blocks % slots;
    const double whole = stages * pace->blocks + pace->around;
    const double time = (double)(blocks / slots) * whole;
    return last == 0                 ? time
           : last <= multiprocessors ? time + stages * pace->alone + pace->around
                                     : time + whole;
}

/*
 * Every tile has blocks of `each` stages, and one of `rest`, if that is not 0. The long ones start
 * first, and the short ones go where the last round of these has left places: as many in a row as
 * take no longer than a long one.
 */
static double time_to_compute(const sgemm_pace *pace, int64_t multiprocessors, int64_t tiles,
                              int64_t stages, int64_t each)
{
    const int64_t longs = tiles * (stages / each), rest = stages % each;
    if (rest == 0) {
        return time_of_rounds(pace, multiprocessors, longs, (double)each);
    }
    const int64_t slots = multiprocessors * pace->blocks, last = longs % slots;
    const double a_long = (double)each * pace->blocks + pace->around;
    const double a_short = (double)rest * pace->blocks + pace->around;
    const int64_t beside = last == 0 ? 0 : (slots - last) * (int64_t)(a_long / a_short);
    const int64_t after = tiles - least_of(tiles, beside);
    /* With short ones beside them, long ones that were alone are not. */
    const bool joined = last != 0 && last + least_of(tiles, slots - last) > multiprocessors;
    const double time = joined ? (double)divide_up(longs, slots) * a_long
                               : time_of_rounds(pace, multiprocessors, longs, (double)each);
    return time + time_of_rounds(pace, multiprocessors, after, (double)rest);
}

/* Stages of each share but the last, which may have fewer; all of them where sharing is no gain.
 * bytes: of the result. */
static int64_t sgemm_stages_per_share(const sgemm_pace *pace, int64_t multiprocessors,
                                      int64_t tiles, int64_t stages, double bytes)
{
    const double evenly = (double)tiles * (double)stages / (double)multiprocessors;
    double least = time_to_compute(pace, multiprocessors, tiles, stages, stages);
    int64_t best = stages;
    for (int64_t shares = 2; shares <= MOST_SHARES && shares <= stages; shares++) {
        const double adding = pace->adding + bytes * (double)(2 * shares + 1) / pace->bytes;
        if (evenly + pace->around + adding >= least) {
            break; /* more shares are no better even where they leave nobody idle */
        }
        /* From all alike to a last one of a single stage. */
        const int64_t alike = divide_up(stages, shares), most = (stages - 1) / (shares - 1);
        const int64_t step = divide_up(most - alike + 1, TRIALS);
        for (int64_t each = alike; each <= most; each += step) {
            const double cost =
                time_to_compute(pace, multiprocessors, tiles, stages, each) + adding;
            if (cost < WORTH * least) {
                least = cost;
                best = each;
            }
        }
    }
    return best;
}

#endif
