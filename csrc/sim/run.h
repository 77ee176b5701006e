/* What the host threads share that run a grid. */
#ifndef GPUMEM_SIM_RUN_H
#define GPUMEM_SIM_RUN_H

#include <pthread.h>
#include <stdatomic.h>

#include "sim/grid.h"

typedef struct gm_run {
    const gm_grid *grid;
    int64_t blocks;
    int64_t resident; /* blocks that may be in flight together */
    atomic_llong next_block, in_flight;
    atomic_bool stop;   /* at once */
    atomic_bool failed; /* a block has an error: blocks that spin need not go on */
    atomic_bool stuck;  /* all blocks are: every host thread says so of its own */

    /* Barriers of the grid. */
    atomic_llong at_barrier; /* blocks that wait at it */
    atomic_llong barriers;   /* that all blocks have passed */

    /* Host threads that run blocks; those of them whose blocks are all stuck and do nothing new. */
    atomic_int running, idle;

    pthread_mutex_t lock;
    int64_t failed_block; /* the lowest so far; -1: none */
    gm_error error;
} gm_run;

/* The next block to run, in order; -1: there is none, or as many are in flight as may be. */
static inline int64_t gm_run_take(gm_run *run)
{
    long long in_flight = atomic_load(&run->in_flight);
    do {
        if (in_flight >= run->resident) {
            return -1;
        }
    } while (!atomic_compare_exchange_weak(&run->in_flight, &in_flight, in_flight + 1));
    int64_t block = atomic_fetch_add(&run->next_block, 1);
    if (block >= run->blocks) {
        atomic_fetch_sub(&run->in_flight, 1);
        return -1;
    }
    return block;
}

static inline void gm_run_ended(gm_run *run)
{
    atomic_fetch_sub(&run->in_flight, 1);
}

#endif
