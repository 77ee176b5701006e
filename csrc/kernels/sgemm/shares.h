/*
 * How many blocks should share a tile of C, in numbers only: where the tiles leave multiprocessors
 * idle, several blocks have a part of the depth each, and their sums are added afterwards.
 *
 * Three tiles of 8 stages on four multiprocessors, one block at a time on each:
 *
 *     not shared          0 0 0 0 0 0 0 0         shared, 6 stages and a rest of 2
 *                         1 1 1 1 1 1 1 1             0 0 0 0 0 0 +
 *                         2 2 2 2 2 2 2 2             1 1 1 1 1 1 +
 *                         . . . . . . . .             2 2 2 2 2 2 +
 *                                                     0 0 1 1 2 2 +      + adding the sums
 */
#ifndef GPUMEM_SGEMM_SHARES_H
#define GPUMEM_SGEMM_SHARES_H

#include <stdbool.h>

#include "sgemm/whole.h"

/* Durations, in units of the time in which a busy multiprocessor computes a stage of a tile. */
typedef struct sgemm_pace {
    int blocks;    /* resident on a multiprocessor */
    double alone;  /* a stage of a block that has a multiprocessor to itself */
    double around; /* the start of a block, until its first stage is there, and its result */
    double adding; /* the launch of the kernel that adds the sums */
    double bytes;  /* that memory moves in one unit of time */
} sgemm_pace;

enum { EACH_NUMBER = 32, MOST_SHARES = 512, TRIALS = 16 };
static const double WORTH = 0.98; /* a smaller gain is within the error of the model */

/*
 * Time of `blocks` blocks of `stages` stages each. In a last round of few blocks each may have a
 * multiprocessor to itself: it does if it is the only round. After others, the blocks of a
 * multiprocessor end at about the same time, and the first of those that are left start there in
 * pairs: less so with each round, because blocks drift apart.
 */
static double time_of_rounds(const sgemm_pace *pace, int64_t multiprocessors, int64_t blocks,
                             double stages)
{
    static const double IN_PAIRS = 0.95, DRIFT = 0.08, LEAST = 0.5;
    const int64_t slots = multiprocessors * pace->blocks, waves = blocks / slots,
                  last = blocks % slots;
    const double whole = stages * pace->blocks + pace->around;
    const double single = stages * pace->alone + pace->around, time = (double)waves * whole;
    if (last == 0 || last > multiprocessors) {
        return time + (last == 0 ? 0 : whole);
    }
    const double paired = IN_PAIRS - DRIFT * (double)waves;
    return time + single +
           (waves == 0 || last == 1 ? 0 : (whole - single) * (paired > LEAST ? paired : LEAST));
}

/*
 * Time if every tile has blocks of `each` stages, and one of the rest, if there is one. The long
 * blocks start first; the short ones fill the slots that the last round of long ones leaves idle,
 * as many one after the other as take no longer than a long one.
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
    /* Beside short blocks, long ones no longer have a multiprocessor to themselves. */
    const bool joined = last != 0 && last + least_of(tiles, slots - last) > multiprocessors;
    const double time = joined ? (double)divide_up(longs, slots) * a_long
                               : time_of_rounds(pace, multiprocessors, longs, (double)each);
    return time + time_of_rounds(pace, multiprocessors, after, (double)rest);
}

/* The best so far. */
typedef struct sgemm_shares {
    int64_t stages; /* of each share but the last, which may have fewer */
    double time;
} sgemm_shares;

/* Tries a number of shares, from equal ones to a last one of a single stage; false if no larger
 * number can be faster, even with no multiprocessor idle. bytes: of the result. */
static bool try_shares(const sgemm_pace *pace, int64_t multiprocessors, int64_t tiles,
                       int64_t stages, int64_t shares, double bytes, sgemm_shares *best)
{
    const double evenly = (double)tiles * (double)stages / (double)multiprocessors;
    const double adding = pace->adding + bytes * (double)(2 * shares + 1) / pace->bytes;
    if (evenly + pace->around + adding >= best->time) {
        return false;
    }
    const int64_t alike = divide_up(stages, shares), fewer = (stages - 1) / (shares - 1);
    const int64_t most = fewer > alike ? fewer : alike;
    const int64_t step = divide_up(most - alike + 1, TRIALS);
    for (int64_t each = alike; each <= most; each += step) {
        const double time = time_to_compute(pace, multiprocessors, tiles, stages, each) + adding;
        if (time < WORTH * best->time) {
            *best = (sgemm_shares){each, time};
        }
    }
    return true;
}

/* All stages are one share if sharing gains nothing. Of many shares, those are tried that make a
 * round of blocks. bytes: of the result. */
static sgemm_shares sgemm_best_shares(const sgemm_pace *pace, int64_t multiprocessors,
                                      int64_t tiles, int64_t stages, double bytes)
{
    sgemm_shares best = {stages, time_to_compute(pace, multiprocessors, tiles, stages, stages)};
    int64_t shares = 2;
    while (shares <= EACH_NUMBER && shares <= stages &&
           try_shares(pace, multiprocessors, tiles, stages, shares, bytes, &best)) {
        shares++;
    }
    for (int blocks = 1; blocks <= pace->blocks; blocks++) {
        const int64_t round = least_of(blocks * multiprocessors / tiles, MOST_SHARES);
        if (round >= shares && round <= stages) {
            (void)try_shares(pace, multiprocessors, tiles, stages, round, bytes, &best);
        }
    }
    return best;
}

#endif
