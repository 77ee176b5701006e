/*
 * Runs a grid: host threads take blocks one after another, in order, until none is left, one fails
 * or the run is interrupted.
 */
#define _GNU_SOURCE
#include "sim/grid.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fork_lock.h"
#include "sim/block.h"
#include "sim/thread.h"
#include "sim/trace.h"
#include "sim/written.h"

enum {
    THREADS_WORTH_A_HOST_THREAD = 32 * 1024, /* about 50 us of work, as much as starting one */
};

/* What the host threads of a run share. */
typedef struct run {
    const gm_grid *grid;
    int64_t blocks;
    atomic_llong next_block;
    atomic_bool stop;
    pthread_mutex_t lock;
    int64_t failed_block; /* the lowest so far; -1: none */
    gm_error error;
} run;

/* A host thread of a run. */
typedef struct worker {
    gm_block block;
    run *run;
    struct worker *next_idle;
} worker;

/* ---- workers ------------------------------------------------------------------------------ */

/* Workers are kept for the next launch: their stacks cost more than a small grid. */
GM_FORK_LOCK(idle_lock);
static worker *idle_workers;

static void worker_free(worker *w)
{
    gm_block_free(&w->block);
    free(w);
}

static void worker_give(worker *w)
{
    if (w->block.failed) { /* its fibers stopped in mid-kernel */
        worker_free(w);
        return;
    }
    pthread_mutex_lock(&idle_lock);
    w->next_idle = idle_workers;
    idle_workers = w;
    pthread_mutex_unlock(&idle_lock);
}

static worker *worker_take(run *r, bool polls)
{
    pthread_mutex_lock(&idle_lock);
    worker *w = idle_workers;
    idle_workers = w ? w->next_idle : NULL;
    pthread_mutex_unlock(&idle_lock);
    if (!w && !(w = calloc(1, sizeof *w))) {
        gm_fail(GM_ERROR_MEMORY, "out of memory for a host thread of the simulator");
        return NULL;
    }
    if (gm_block_prepare(&w->block, r->grid) != GM_OK) {
        worker_free(w);
        return NULL;
    }
    gm_interrupt_init(&w->block.interrupt, &r->stop, polls);
    w->run = r;
    return w;
}

/* ---- blocks ------------------------------------------------------------------------------- */

static void note_failure(run *r, int64_t block)
{
    pthread_mutex_lock(&r->lock);
    /* Blocks are handed out in order, so that every lower block has run or is running: the lowest
     * failing block is the same for any number of host threads. */
    if (r->failed_block < 0 || block < r->failed_block) {
        r->failed_block = block;
        r->error = *gm_last_error();
    }
    atomic_store(&r->next_block, r->blocks);
    pthread_mutex_unlock(&r->lock);
}

static void run_blocks(worker *w)
{
    run *r = w->run;
    gm_thread_outer outer = gm_thread_enter(&w->block);
    for (;;) {
        int64_t block = atomic_fetch_add(&r->next_block, 1);
        if (block >= r->blocks) {
            break;
        }
        gm_status status = gm_block_run(&w->block, block);
        if (status != GM_OK) {
            w->block.failed = true;
            if (!atomic_load(&r->stop) || status != GM_ERROR_INTERRUPTED) {
                note_failure(r, block);
            }
            if (status == GM_ERROR_INTERRUPTED) {
                atomic_store(&r->stop, true);
            }
            break;
        }
    }
    gm_thread_leave(&outer);
}

static void *worker_main(void *argument)
{
    run_blocks(argument);
    return NULL;
}

/* ---- runs --------------------------------------------------------------------------------- */

static gm_status run_traced(run *r)
{
    const gm_grid *grid = r->grid;
    worker *w = worker_take(r, true);
    if (!w) {
        return gm_last_error()->status;
    }
    gm_trace_launch launch = {
        .module = grid->module,
        .grid = grid->grid,
        .block = grid->block,
        .args = grid->args,
        .args_size = grid->args_size,
        .shared_bytes = grid->shared_bytes,
    };
    gm_status status = gm_trace_begin(grid->trace, &launch);
    if (status == GM_OK) {
        run_blocks(w);
        gm_trace_kernel kernel = {
            .name = grid->kernel.name,
            .doc = grid->kernel.doc,
            .grid = grid->grid,
            .block = grid->block,
            .shared_bytes = (int64_t)grid->shared_bytes,
            .threads = r->blocks * w->block.threads,
            .warps = w->block.warps,
            .barriers = w->block.barriers,
        };
        status = gm_trace_finish(grid->trace, kernel);
    }
    gm_trace_end(grid->trace);
    worker_give(w);
    return status;
}

/* How many host threads the work is worth. */
static int64_t wanted_threads(const run *r)
{
    const gm_grid *grid = r->grid;
    int64_t block_threads = (int64_t)grid->block.x * grid->block.y * grid->block.z;
    int64_t worth = 1 + r->blocks / (1 + THREADS_WORTH_A_HOST_THREAD / block_threads);
    int64_t wanted = grid->host_threads < worth ? grid->host_threads : worth;
    return wanted < r->blocks ? wanted : r->blocks;
}

static gm_status run_plain(run *r)
{
    worker *workers[GM_MAX_HOST_THREADS];
    pthread_t threads[GM_MAX_HOST_THREADS];
    const int64_t wanted = wanted_threads(r);

    workers[0] = worker_take(r, true);
    if (!workers[0]) {
        return gm_last_error()->status;
    }
    int started = 1;
    for (; started < wanted; started++) {
        worker *w = worker_take(r, false);
        if (!w) {
            break; /* fewer host threads, the same result */
        }
        if (pthread_create(&threads[started], NULL, worker_main, w) != 0) {
            worker_give(w);
            break;
        }
        workers[started] = w;
    }
    run_blocks(workers[0]);
    for (int i = 1; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < started; i++) {
        worker_give(workers[i]);
    }
    return GM_OK;
}

static gm_status run_here(const gm_grid *grid)
{
    run r = {.grid = grid, .failed_block = -1};
    r.blocks = (int64_t)grid->grid.x * grid->grid.y * grid->grid.z;
    pthread_mutex_init(&r.lock, NULL);
    gm_status status = grid->trace ? run_traced(&r) : run_plain(&r);
    pthread_mutex_destroy(&r.lock);
    if (status == GM_OK && r.failed_block >= 0) {
        *gm_last_error() = r.error;
        status = r.error.status;
    }
    return status;
}

typedef struct nested_run {
    const gm_grid *grid;
    gm_status status;
    gm_error error;
} nested_run;

static void *nested_main(void *argument)
{
    nested_run *nested = argument;
    nested->status = run_here(nested->grid);
    nested->error = *gm_last_error();
    return NULL;
}

/* The poll hook may run a kernel while a block is running on this host thread. That kernel must not
 * share the block's __shared__ variables, which are thread-local: it gets a host thread. */
static gm_status run_nested(const gm_grid *grid)
{
    nested_run nested = {.grid = grid};
    pthread_t thread;
    if (pthread_create(&thread, NULL, nested_main, &nested) != 0) {
        return gm_fail(GM_ERROR_MEMORY, "cannot start a host thread for a nested kernel");
    }
    pthread_join(thread, NULL);
    if (nested.status != GM_OK) {
        *gm_last_error() = nested.error;
    }
    return nested.status;
}

gm_status gm_grid_run(const gm_grid *grid)
{
    if (!grid->trace) {
        gm_written_by_plain_launch();
    }
    return gm_thread_current ? run_nested(grid) : run_here(grid);
}
