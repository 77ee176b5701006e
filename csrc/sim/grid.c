/*
 * Runs a grid: host threads take blocks one after another, in order, until none is left, one fails
 * or the run is interrupted.
 */
#define _GNU_SOURCE
#include "sim/grid.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "fork_lock.h"
#include "sim/block.h"
#include "sim/residents.h"
#include "sim/run.h"
#include "sim/storage.h"
#include "sim/thread.h"
#include "sim/trace.h"
#include "sim/written.h"

enum {
    THREADS_WORTH_A_HOST_THREAD = 32 * 1024, /* about 50 us of work, as much as starting one */
};

/* A host thread of a run. */
typedef struct worker {
    gm_block block;
    gm_run *run;
    gm_preempt preempt;
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

static worker *worker_take(gm_run *r, bool polls)
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
    w->block.preempt = &w->preempt;
    return w;
}

/* ---- blocks ------------------------------------------------------------------------------- */

static void note_failure(gm_run *r, int64_t block)
{
    pthread_mutex_lock(&r->lock);
    /* Blocks are handed out in order, so that every lower block has run or is running: the lowest
     * failing block is the same for any number of host threads. */
    if (r->failed_block < 0 || block < r->failed_block) {
        r->failed_block = block;
        r->error = *gm_last_error();
    }
    atomic_store(&r->next_block, r->blocks);
    atomic_store(&r->failed, true);
    pthread_mutex_unlock(&r->lock);
}

/* Runs a block; if it gets stuck, together with others. *failed: which of them has the error. */
static gm_status run_block(worker *w, int64_t number, int64_t *failed)
{
    gm_block *block = &w->block;
    *failed = number;
    gm_status status = gm_block_begin(block, number);
    status = status == GM_OK ? gm_block_advance(block) : status;
    if (status == GM_OK && block->standing == GM_ENDED) {
        gm_run_ended(w->run);
    } else if (status == GM_OK) {
        status = gm_residents_run(w->run, block, failed);
    }
    gm_preempt_often(&w->preempt, false);
    return status;
}

/* If all findings are wanted: keeps the one that has stopped a block. Returns whether others may
 * go on; if several were in flight, they may have waited for that one. */
static bool keep_finding(const gm_run *r, gm_status status)
{
    enum { MOST_STOPPED = 100 };
    gm_findings *findings = r->grid->trace ? r->grid->trace->findings : NULL;
    const gm_error *error = gm_last_error();
    if (!findings || status != GM_ERROR_SIMULATION) {
        return false;
    }
    bool alone = atomic_load(&r->in_flight) == 1;
    bool may_follow = findings->stopped > 0 && error->rule == GM_RULE_ENDLESS;
    if (!may_follow && gm_findings_add(findings, error) != GM_OK) {
        return false;
    }
    findings->cut = findings->cut || !alone || findings->stopped + 1 == MOST_STOPPED;
    return ++findings->stopped < MOST_STOPPED && alone;
}

/* The threads of the block have stopped in mid-kernel, and nothing of it can be used again. */
static gm_status renew_block(worker *w)
{
    const gm_interrupt interrupt = w->block.interrupt;
    gm_trace *trace = w->run->grid->trace;
    gm_block_free(&w->block);
    w->block = (gm_block){.preempt = &w->preempt, .interrupt = interrupt};
    trace->current->open = false;
    gm_trace_place(trace, NULL, 0, -1);
    gm_run_ended(w->run);
    return gm_block_prepare(&w->block, w->run->grid);
}

static void run_blocks(worker *w)
{
    gm_run *r = w->run;
    gm_thread_outer outer = gm_thread_enter(&w->block);
    gm_preempt_begin(&w->preempt, &w->block);
    for (int64_t number; (number = gm_run_take(r)) >= 0;) {
        int64_t failed;
        gm_status status = run_block(w, number, &failed);
        if (status != GM_OK && keep_finding(r, status)) {
            gm_preempt_end(&w->preempt);
            gm_thread_leave(&outer);
            status = renew_block(w);
            outer = gm_thread_enter(&w->block);
            gm_preempt_begin(&w->preempt, &w->block);
        }
        if (status != GM_OK) {
            w->block.failed = true;
            bool told = atomic_load(&r->stop) || atomic_load(&r->failed);
            if (!told || status != GM_ERROR_INTERRUPTED) {
                note_failure(r, failed);
            }
            if (!told && status == GM_ERROR_INTERRUPTED) {
                atomic_store(&r->stop, true);
            }
            break;
        }
    }
    gm_preempt_end(&w->preempt);
    gm_thread_leave(&outer);
    atomic_fetch_sub(&r->running, 1);
}

/* This host thread is about to run blocks. */
static gm_status take_storage(const gm_grid *grid)
{
    bool taken =
        gm_storage_take(grid->module) && (grid->own == grid->module || gm_storage_take(grid->own));
    return taken ? GM_OK
                 : gm_fail(GM_ERROR_MEMORY, "out of memory for the variables of a host thread");
}

/* Without memory it leaves the blocks to the others. */
static void *worker_main(void *argument)
{
    worker *w = argument;
    if (take_storage(w->run->grid) == GM_OK) {
        run_blocks(w);
    } else {
        atomic_fetch_sub(&w->run->running, 1);
    }
    return NULL;
}

/* ---- runs --------------------------------------------------------------------------------- */

static gm_status run_traced(gm_run *r)
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
        .early = grid->early,
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
static int64_t wanted_threads(const gm_run *r)
{
    const gm_grid *grid = r->grid;
    int64_t block_threads = (int64_t)grid->block.x * grid->block.y * grid->block.z;
    int64_t worth = 1 + r->blocks / (1 + THREADS_WORTH_A_HOST_THREAD / block_threads);
    int64_t wanted = grid->host_threads < worth ? grid->host_threads : worth;
    return wanted < r->blocks ? wanted : r->blocks;
}

/* The thread may run for long, or for ever. */
static void join(gm_run *r, gm_interrupt *interrupt, pthread_t thread)
{
    for (;;) {
        struct timespec end;
        (void)clock_gettime(CLOCK_REALTIME, &end);
        end.tv_nsec += 50 * 1000 * 1000;
        end.tv_sec += end.tv_nsec / 1000000000;
        end.tv_nsec %= 1000000000;
        if (pthread_timedjoin_np(thread, NULL, &end) != ETIMEDOUT) {
            return;
        }
        if (!atomic_load(&r->stop) && gm_interrupt_check(interrupt) != GM_OK) {
            note_failure(r, r->blocks);
            atomic_store(&r->stop, true);
        }
    }
}

static gm_status run_plain(gm_run *r)
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
        atomic_fetch_add(&r->running, 1);
        if (pthread_create(&threads[started], NULL, worker_main, w) != 0) {
            atomic_fetch_sub(&r->running, 1);
            worker_give(w);
            break;
        }
        workers[started] = w;
    }
    run_blocks(workers[0]);
    for (int i = 1; i < started; i++) {
        join(r, &workers[0]->block.interrupt, threads[i]);
    }
    for (int i = 0; i < started; i++) {
        worker_give(workers[i]);
    }
    return GM_OK;
}

static gm_status run_here(const gm_grid *grid)
{
    gm_run r = {.grid = grid, .running = 1, .failed_block = -1};
    r.blocks = (int64_t)grid->grid.x * grid->grid.y * grid->grid.z;
    r.resident = grid->resident ? grid->resident : r.blocks;
    if (grid->cooperative && r.blocks > r.resident) {
        return gm_find(GM_RULE_LAUNCH,
                       "kernel %s: a cooperative launch of %lld blocks, of which at most %lld can "
                       "be resident",
                       grid->kernel.name, (long long)r.blocks, (long long)r.resident);
    }
    pthread_mutex_init(&r.lock, NULL);
    gm_status status = grid->trace ? run_traced(&r) : run_plain(&r);
    pthread_mutex_destroy(&r.lock);
    bool kept = grid->trace && grid->trace->findings && grid->trace->findings->stopped > 0 &&
                r.error.status == GM_ERROR_SIMULATION;
    if (status == GM_OK && r.failed_block >= 0 && !kept) {
        gm_set_last_error(&r.error);
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
    nested->status = take_storage(nested->grid) == GM_OK ? run_here(nested->grid) : GM_ERROR_MEMORY;
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
        gm_set_last_error(&nested.error);
    }
    return nested.status;
}

gm_status gm_grid_run(const gm_grid *grid)
{
    if (!grid->trace) {
        gm_written_by_plain_launch();
    }
    gm_status status = take_storage(grid);
    if (status != GM_OK) {
        return status;
    }
    return gm_thread_block() ? run_nested(grid) : run_here(grid);
}
