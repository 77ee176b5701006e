/*
 * Where there are fewer tiles of C than multiprocessors, several blocks share one: each has so many
 * stages of the depth, and their sums are added up. How many is best, in numbers alone.
 */
#ifndef GPUMEM_SGEMM_SHARES_H
#define GPUMEM_SGEMM_SHARES_H

#include <stdint.h>

/* What takes how long, in the time in which a busy multiprocessor computes a stage of a tile. */
typedef struct sgemm_pace {
    int blocks;    /* at once on a multiprocessor */
    double alone;  /* a stage of a block that has one for itself: nobody computes while it waits */
    double around; /* a block's first stages, and its result */
    double adding; /* the launch of the kernel that adds up */
    double bytes;  /* that memory moves in that time */
} sgemm_pace;

enum { MOST_SHARES = 32 };

static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* Stages of each share but the last, which may have fewer; all of them where sharing is no gain.
 * bytes: of the result. */
static int64_t sgemm_stages_per_share(const sgemm_pace *pace, int64_t multiprocessors,
                                      int64_t tiles, int64_t stages, double bytes)
{
    double least = 0;
    int64_t best = stages;
    for (int64_t wish = 1; wish <= MOST_SHARES && wish <= stages; wish++) {
        const int64_t each = divide_up(stages, wish), shares = divide_up(stages, each);
        const int64_t blocks = divide_up(tiles * shares, multiprocessors);
        double cost = (double)each * (blocks == 1 ? pace->alone : (double)blocks) + pace->around;
        if (shares > 1) {
            cost += pace->adding + bytes * (double)(2 * shares + 1) / pace->bytes;
        }
        if (wish == 1 || cost < least) {
            least = cost;
            best = each;
        }
    }
    return best;
}

#endif
