/* Blocks in flight together: they have their turns, and whether all of them are stuck for good. */
#define _GNU_SOURCE
#include "sim/residents.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/thread.h"

/* A spin may depend on what is neither memory nor in registers, such as a clock: it is said to be
 * without end only after a while. Traced, after so many rounds of turns and accesses; */
enum {
    IDLE_ROUNDS = 16,
    IDLE_ACCESSES = 250 * 1000,
};
/* at full speed, after so many nanoseconds. */
static const int64_t idle_time = 1000 * 1000 * 1000;

typedef struct residents {
    gm_run *run;
    gm_block **list; /* the first is the host thread's own; behind those in flight are spare ones */
    int count, made, room;
    gm_block *now;  /* whose variables are in place */
    bool backwards; /* the direction of the last round */
    int idle_rounds;
    int64_t idle_before; /* accesses, when the first idle round began */
    int64_t idle_since;
    bool idle; /* counted in run->idle */
} residents;

static int64_t now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static gm_status select_block(residents *r, gm_block *block)
{
    gm_status status = gm_thread_select(r->now, block);
    if (status == GM_OK) {
        r->now = block;
    }
    return status;
}

/* ---- which blocks --------------------------------------------------------------------------- */

static void free_block(gm_block *block)
{
    if (block) {
        gm_block_free(block);
        free(block);
    }
}

static gm_status make_spare(residents *r)
{
    const gm_block *own = r->list[0];
    if (r->made == r->room) {
        gm_block **list = realloc(r->list, 2 * (size_t)r->room * sizeof(gm_block *));
        if (!list) {
            return gm_fail(GM_ERROR_MEMORY, "out of memory for the list of blocks in flight");
        }
        r->list = list;
        r->room *= 2;
    }
    gm_block *block = calloc(1, sizeof *block);
    if (!block || gm_block_prepare(block, r->run->grid) != GM_OK) {
        free_block(block);
        return gm_fail(GM_ERROR_MEMORY, "out of memory for one more block in flight");
    }
    block->interrupt = own->interrupt;
    block->preempt = own->preempt;
    block->lane = own->lane;
    r->list[r->made++] = block;
    return GM_OK;
}

/* Begins one more block, if there is one and it may be in flight; *begun says whether. */
static gm_status begin_another(residents *r, bool *begun)
{
    *begun = false;
    gm_status status = r->count == r->made ? make_spare(r) : GM_OK;
    int64_t number = status == GM_OK ? gm_run_take(r->run) : -1;
    if (number < 0) {
        return status;
    }
    gm_block *block = r->list[r->count++];
    block->number = number;
    *begun = true;
    status = select_block(r, block);
    return status == GM_OK ? gm_block_begin(block, number) : status;
}

/* A block that has ended. */
static void take_counts(gm_block *own, gm_block *block)
{
    own->barriers += block->barriers;
    own->warps += block->warps;
    block->barriers = block->warps = 0;
    block->traced = NULL;
}

/* ---- getting on ----------------------------------------------------------------------------- */

/* Does the block wait at a barrier of the grid that not all blocks have reached? */
static bool waits_for_grid(const residents *r, const gm_block *block)
{
    return block->standing == GM_AT_GRID && block->grid_barriers == atomic_load(&r->run->barriers);
}

/* The last block to come lets all go on. */
static void arrive(residents *r)
{
    gm_run *run = r->run;
    if (atomic_fetch_add(&run->at_barrier, 1) + 1 == run->blocks) {
        atomic_store(&run->at_barrier, 0);
        atomic_fetch_add(&run->barriers, 1);
    }
}

/* A turn of one block. *moved: a thread went on; *active: one did something new. */
static gm_status run_turn(residents *r, gm_block *block, bool *moved, bool *active)
{
    if (block->standing == GM_ENDED || waits_for_grid(r, block)) {
        return GM_OK;
    }
    int64_t moves = block->moves, actives = block->actives;
    gm_status status = select_block(r, block);
    if (status == GM_OK && block->standing == GM_AT_GRID) {
        status = gm_block_pass_grid(block);
    }
    status = status == GM_OK ? gm_block_advance(block) : status;
    *active = *active || block->actives != actives;
    *moved = *moved || block->moves != moves || block->standing != GM_STUCK;
    if (status == GM_OK && block->standing == GM_AT_GRID) {
        arrive(r);
    } else if (status == GM_OK && block->standing == GM_ENDED) {
        gm_run_ended(r->run);
    }
    return status;
}

/* A turn of each block, to and fro: blocks that wait for the next one go on in one round, and so do
 * blocks that wait for the one before. */
static gm_status run_round(residents *r, bool *moved, bool *active)
{
    gm_status status = GM_OK;
    *moved = *active = false;
    r->backwards = !r->backwards;
    for (int i = 0; i < r->count && status == GM_OK; i++) {
        int at = r->backwards ? r->count - 1 - i : i;
        status = run_turn(r, r->list[at], moved, active);
    }
    int count = 1;
    for (int i = 1; i < r->count && status == GM_OK; i++) {
        gm_block *block = r->list[i];
        if (block->standing == GM_ENDED) {
            take_counts(r->list[0], block);
        } else {
            r->list[i] = r->list[count];
            r->list[count++] = block;
        }
    }
    r->count = status == GM_OK ? count : r->count;
    return status;
}

/* ---- getting stuck -------------------------------------------------------------------------- */

static void set_idle(residents *r, bool idle)
{
    if (r->idle != idle) {
        r->idle = idle;
        atomic_fetch_add(&r->run->idle, idle ? 1 : -1);
    }
}

static int64_t idle_accesses(const residents *r)
{
    int64_t sum = 0;
    for (int i = 0; i < r->count; i++) {
        sum += r->list[i]->turn ? r->list[i]->turn->idle : 0;
    }
    return sum;
}

static gm_status fail_stuck(residents *r)
{
    gm_run *run = r->run;
    gm_block *lowest = NULL;
    for (int i = 0; i < r->count; i++) {
        gm_block *block = r->list[i];
        bool better = !lowest || (block->standing == GM_STUCK && lowest->standing != GM_STUCK) ||
                      (block->standing == lowest->standing && block->number < lowest->number);
        lowest = block->standing != GM_ENDED && better ? block : lowest;
    }
    bool more = run->blocks > run->resident && atomic_load(&run->in_flight) >= run->resident;
    char why[128] = "";
    if (more) {
        snprintf(why, sizeof why, "; of the grid's %lld blocks at most %lld can be resident",
                 (long long)run->blocks, (long long)run->resident);
    }
    atomic_store(&run->stuck, true);
    gm_status status = select_block(r, lowest);
    return status == GM_OK ? gm_block_fail_stuck(lowest, why) : status;
}

/* No thread of this host thread's blocks went on. Waits for other host threads, or fails if they
 * are stuck as well, and have been for long. */
static gm_status wait_or_fail(residents *r, bool active)
{
    gm_run *run = r->run;
    bool traced = run->grid->trace;
    if (active || r->idle_rounds == 0) {
        r->idle_rounds = 0;
        r->idle_before = idle_accesses(r);
        r->idle_since = now();
    }
    r->idle_rounds++;
    set_idle(r, !active);
    bool spins = false;
    for (int i = 0; i < r->count; i++) {
        spins = spins || r->list[i]->standing == GM_STUCK;
    }
    bool all_idle = !active && atomic_load(&run->idle) == atomic_load(&run->running);
    bool long_enough =
        traced ? r->idle_rounds > IDLE_ROUNDS && idle_accesses(r) - r->idle_before > IDLE_ACCESSES
               : now() - r->idle_since > idle_time;
    if (all_idle && (long_enough || (traced && !spins))) {
        return fail_stuck(r);
    }
    if (!traced) {
        nanosleep(&(struct timespec){0, 200 * 1000}, NULL);
    }
    return gm_interrupt_check(&r->list[0]->interrupt);
}

static gm_status run_all(residents *r)
{
    gm_status status = GM_OK;
    while (status == GM_OK && (r->count > 1 || r->list[0]->standing != GM_ENDED)) {
        bool moved, active, begun = false;
        if (atomic_load(&r->run->failed)) {
            return atomic_load(&r->run->stuck) ? fail_stuck(r) : GM_ERROR_INTERRUPTED;
        }
        status = run_round(r, &moved, &active);
        /* Twice as many each time: all of them have had their turn in vain. */
        int more = moved ? 0 : r->count;
        for (bool another = true; more > 0 && another && status == GM_OK; more--) {
            status = begin_another(r, &another);
            begun = begun || another;
        }
        if (status == GM_OK && !moved && !begun) {
            status = wait_or_fail(r, active);
        } else {
            r->idle_rounds = 0;
            set_idle(r, false);
        }
    }
    return status;
}

gm_status gm_residents_run(gm_run *run, gm_block *block, int64_t *failed)
{
    residents r = {.run = run, .count = 1, .made = 1, .room = 16, .now = block};
    r.list = malloc((size_t)r.room * sizeof(gm_block *));
    if (!r.list) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the list of blocks in flight");
    }
    r.list[0] = block;
    if (block->standing == GM_AT_GRID) {
        arrive(&r);
    }
    gm_status status = run_all(&r);
    *failed = r.now->number;
    set_idle(&r, false);
    const gm_error error = *gm_last_error();
    if (r.now != block) {
        (void)gm_thread_select(r.now, block);
    }
    for (int i = 1; i < r.made; i++) {
        free_block(r.list[i]);
    }
    free(r.list);
    gm_set_last_error(&error);
    return status;
}
