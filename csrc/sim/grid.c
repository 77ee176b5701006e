/*
 * The grid runner.
 *
 * A host thread takes blocks one after another and runs each warp by warp. A fiber runs one
 * thread after the other until one has to wait; that fiber then belongs to the waiting
 * thread, and another takes over. So a kernel without barriers needs a single fiber, and one
 * with barriers as many as its block has threads.
 */
#define _GNU_SOURCE
#include "sim/grid.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fork_lock.h"
#include "sim/barriers.h"
#include "sim/bulk.h"
#include "sim/fiber.h"
#include "sim/hooks.h"
#include "sim/trace.h"

enum {
    THREADS_WORTH_A_HOST_THREAD = 32 * 1024, /* about 50 us of work, as much as starting one */
};

typedef struct shared_state {
    const gm_grid *grid;
    int64_t blocks;
    atomic_llong next_block;
    atomic_bool stop;
    pthread_mutex_t lock;
    int64_t failed_block; /* the lowest so far; -1: none */
    gm_error error;
} shared_state;

typedef struct worker {
    /* gm_lane of the host thread that runs the worker now. A fiber outlives a launch and may
     * wake on another host thread: it must not keep the address of a thread-local variable. */
    gm_lane_state *lane;
    const gm_grid *grid;
    shared_state *shared;
    gm_trace *trace;
    void *home; /* the scheduler, while a fiber runs */
    gm_fiber_pool fibers;
    gm_fiber *running_fiber;
    gm_strand *strands;
    char *dynamic_shared;
    int threads; /* per block */
    int running; /* the thread that runs now */
    int next_fresh, end_fresh;
    int done, at_warp, at_mbarrier;
    int64_t barriers, warps;
    uint64_t deposit[GM_WARP], exchanged[GM_WARP];
    bool failed;                  /* the error record says how */
    bool polls;                   /* may call the hook */
    bool slow;                    /* warps take milliseconds: look up after every thread */
    int64_t last_look, last_poll; /* nanoseconds */
    struct worker *next_idle;
} worker;

GM_THREAD_LOCAL gm_lane_state gm_lane;
static _Thread_local worker *current;

/* ---- failing ------------------------------------------------------------------------------ */

/* Puts kernel, line, block and thread before the message of a fault. */
static gm_status locate(worker *w, const char *file, int line)
{
    gm_error *error = gm_last_error();
    if (error->status != GM_ERROR_SIMULATION) {
        return error->status;
    }
    char what[sizeof error->message];
    memcpy(what, error->message, sizeof what);
    gm_index b = w->lane->block_index, t = w->lane->thread_index;
    gm_fail(GM_ERROR_SIMULATION, "kernel %s at %s:%d, block (%u, %u, %u), thread (%u, %u, %u): %s",
            w->grid->name, file ? file : "?", line, b.x, b.y, b.z, t.x, t.y, t.z, what);
    error->kernel = w->grid->name;
    error->file = file;
    error->line = line;
    error->located = true;
    error->block = (gm_dim){b.x, b.y, b.z};
    error->thread = (gm_dim){t.x, t.y, t.z};
    return GM_ERROR_SIMULATION;
}

/* Leaves the kernel for good. Kernels own nothing, so their fibers can simply be dropped. */
static _Noreturn void abandon(worker *w)
{
    w->failed = true;
    gm_fiber_switch(&w->running_fiber->context, w->home);
    __builtin_unreachable();
}

/* A fault that the trace has found; it knows where. */
static gm_status locate_traced(worker *w, gm_status status)
{
    if (status == GM_ERROR_SIMULATION && w->trace->fault.thread >= 0) {
        w->lane->thread_index = w->strands[w->trace->fault.thread].index;
        return locate(w, w->trace->fault.file, w->trace->fault.line);
    }
    return status;
}

void gm_sim_fault(const char *file, int line, const char *what)
{
    gm_fail(GM_ERROR_SIMULATION, "%s", what);
    locate(current, file, line);
    abandon(current);
}

/* ---- threads ------------------------------------------------------------------------------ */

static void fiber_run(gm_fiber *fiber, void *argument)
{
    worker *w = argument;
    for (;;) {
        while (w->next_fresh < w->end_fresh) {
            int thread = w->next_fresh++;
            gm_strand *s = &w->strands[thread];
            s->fiber = fiber;
            w->running = thread;
            w->lane->thread_index = s->index;
            w->grid->kernel(w->grid->args, w->lane);
            w->strands[w->running].state = DONE;
            w->done++;
            if (w->slow) {
                break;
            }
        }
        gm_fiber_give(&w->fibers, fiber);
        gm_fiber_switch(&fiber->context, w->home);
    }
}

static void enter(worker *w, gm_fiber *fiber)
{
    w->running_fiber = fiber;
    gm_fiber_switch(&w->home, fiber->context);
}

static void resume(worker *w, int thread)
{
    gm_strand *s = &w->strands[thread];
    s->state = RUNNING;
    w->running = thread;
    w->lane->thread_index = s->index;
    enter(w, s->fiber);
}

/* Called on the thread's fiber; comes back when the scheduler resumes it. */
static void wait_as(worker *w, gm_strand_state state, const char *file, int line)
{
    gm_strand *s = &w->strands[w->running];
    s->state = state;
    s->file = file;
    s->line = line;
    gm_fiber_switch(&s->fiber->context, w->home);
}

void gm_sim_barrier(const char *file, int line)
{
    wait_as(current, AT_BARRIER, file, line);
}

void gm_sim_exchange(unsigned mask, uint64_t value, const char *file, int line)
{
    worker *w = current;
    unsigned lane = (unsigned)w->running % GM_WARP;
    if (!(mask >> lane & 1)) {
        gm_sim_fault(file, line, "the mask of a warp operation leaves out the calling lane");
    }
    w->deposit[lane] = value;
    w->strands[w->running].mask = mask;
    w->at_warp++;
    wait_as(w, AT_WARP, file, line);
}

void gm_sim_wait_for_phase(const uint64_t *mbarrier, uint32_t parity, const char *file, int line)
{
    worker *w = current;
    gm_strand *s = &w->strands[w->running];
    s->mbarrier = mbarrier;
    s->parity = parity;
    w->at_mbarrier++;
    wait_as(w, AT_MBARRIER, file, line);
}

uint64_t gm_sim_exchanged(unsigned lane)
{
    return current->exchanged[lane % GM_WARP];
}

unsigned gm_sim_lane(void)
{
    return (unsigned)current->running % GM_WARP;
}

/* ---- tracing ------------------------------------------------------------------------------ */

static void observe(const gm_trace_call *call)
{
    worker *w = current;
    if (!w || !w->trace) {
        return;
    }
    gm_status status = gm_trace_access(w->trace, w->running, call);
    if (status != GM_OK) {
        locate_traced(w, status);
        abandon(w);
    }
}

void gm_sim_access(const void *code, uintptr_t address, uint32_t bytes, gm_kind kind,
                   const char *file, int line)
{
    observe(&(gm_trace_call){code, address, bytes, kind, file, line, GM_BY_THREAD, NULL});
}

void gm_sim_engine_access(const void *code, uintptr_t address, uint32_t bytes, gm_kind kind,
                          const void *mbarrier, const char *file, int line)
{
    observe(&(gm_trace_call){code, address, bytes, kind, file, line, GM_BY_ENGINE, mbarrier});
}

void gm_sim_pipeline_access(const void *code, uintptr_t address, uint32_t bytes, gm_kind kind,
                            const char *file, int line)
{
    observe(&(gm_trace_call){code, address, bytes, kind, file, line, GM_BY_PIPELINE, NULL});
}

void gm_sim_sync(const gm_sync *sync)
{
    worker *w = current;
    if (!w || !w->trace) {
        return;
    }
    gm_status status = gm_trace_sync(w->trace, w->running, sync);
    if (status != GM_OK) {
        locate_traced(w, status);
        abandon(w);
    }
}

void gm_sim_thread_end(void)
{
    worker *w = current;
    if (!w || !w->trace) {
        return;
    }
    gm_status status = gm_trace_thread_end(w->trace, w->running);
    if (status != GM_OK) {
        locate_traced(w, status);
        abandon(w);
    }
}

/* ---- warps -------------------------------------------------------------------------------- */

/* Lanes wait for each other within a warp: release every group that is complete. */
static gm_status settle_warp(worker *w, int first, int last)
{
    while (w->at_warp > 0) {
        unsigned waiting = 0, released = 0;
        bool later = false; /* lanes that may yet come */
        for (int t = first; t < last; t++) {
            waiting |= (unsigned)(w->strands[t].state == AT_WARP) << (t - first);
            later = later || w->strands[t].state == AT_MBARRIER;
        }
        unsigned present = last - first == GM_WARP ? ~0u : (1u << (last - first)) - 1;
        for (int t = first; t < last; t++) {
            const gm_strand *s = &w->strands[t];
            unsigned lane = (unsigned)(t - first);
            if (!(waiting >> lane & 1) || released >> lane & 1) {
                continue;
            }
            unsigned group = s->mask & present;
            bool complete = (group & ~waiting) == 0;
            for (int u = first; complete && u < last; u++) {
                complete = !(group >> (u - first) & 1) || w->strands[u].mask == s->mask;
            }
            if (complete) {
                released |= group;
                if (w->trace) {
                    gm_trace_warp(w->trace, first, group);
                }
            }
        }
        if (w->trace && released == present) { /* no request has lanes before and after it */
            gm_status status = gm_trace_flush(w->trace, first / GM_WARP);
            if (status != GM_OK) {
                return status;
            }
        }
        if (!released) {
            if (!waiting || later) {
                return GM_OK;
            }
            int t = first + __builtin_ctz(waiting);
            w->lane->thread_index = w->strands[t].index;
            gm_fail(GM_ERROR_SIMULATION,
                    "a warp operation waits for lanes that do not come to it (mask 0x%08x)",
                    w->strands[t].mask);
            return locate(w, w->strands[t].file, w->strands[t].line);
        }
        for (unsigned lane = 0; lane < GM_WARP; lane++) {
            if (released >> lane & 1) {
                w->exchanged[lane] = w->deposit[lane];
            }
        }
        w->at_warp -= __builtin_popcount(released);
        for (int t = first; t < last; t++) {
            if (released >> (t - first) & 1) {
                resume(w, t);
                if (w->failed) {
                    return gm_last_error()->status;
                }
            }
        }
    }
    return GM_OK;
}

/* Lanes of a warp that wait for each other or on mbarriers go on, as far as they can now. */
static gm_status run_waiting(worker *w, int first, int last, bool *progress)
{
    for (bool again = true; again;) {
        gm_status status = w->at_warp > 0 ? settle_warp(w, first, last) : GM_OK;
        if (status != GM_OK) {
            return status;
        }
        again = false;
        for (int t = first; w->at_mbarrier > 0 && t < last; t++) {
            const gm_strand *s = &w->strands[t];
            if (s->state == AT_MBARRIER && gm_sim_mbarrier_passed(s->mbarrier, s->parity)) {
                w->at_mbarrier--;
                resume(w, t);
                if (w->failed) {
                    return gm_last_error()->status;
                }
                again = *progress = true;
            }
        }
    }
    return GM_OK;
}

/* Has someone asked to stop? Called on the host thread's own stack: the hook may run Python. */
static gm_status look_up(worker *w)
{
    int64_t now = gm_coarse_now();
    if (atomic_load_explicit(&w->shared->stop, memory_order_relaxed)) {
        return GM_ERROR_INTERRUPTED;
    }
    w->slow = now != w->last_look;
    w->last_look = now;
    return w->polls ? gm_poll_after(&w->last_poll, now) : GM_OK;
}

/* From the start or the last barrier to the next: all lanes of one warp. */
static gm_status run_warp(worker *w, int first, int last, bool fresh)
{
    gm_status status = look_up(w);
    if (fresh) {
        w->next_fresh = first;
        w->end_fresh = last;
        while (status == GM_OK && w->next_fresh < w->end_fresh) {
            gm_fiber *fiber = gm_fiber_take(&w->fibers, fiber_run, w);
            if (!fiber) {
                return gm_fail(GM_ERROR_MEMORY, "out of memory for the stacks of a block");
            }
            enter(w, fiber);
            status = w->failed ? gm_last_error()->status : w->slow ? look_up(w) : GM_OK;
        }
    } else {
        for (int t = first; status == GM_OK && t < last; t++) {
            resume(w, t);
            status = w->failed ? gm_last_error()->status : w->slow ? look_up(w) : GM_OK;
        }
    }
    if (status == GM_OK && w->at_warp + w->at_mbarrier > 0) {
        bool progress;
        status = run_waiting(w, first, last, &progress);
    }
    if (status == GM_OK && w->trace) {
        status = gm_trace_flush(w->trace, first / GM_WARP);
    }
    return status;
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* The whole block has met: does it go on? */
static gm_status meet(worker *w)
{
    int thread = gm_barrier_check(w->strands, w->threads, w->done);
    if (thread >= 0) {
        w->lane->thread_index = w->strands[thread].index;
        return locate(w, w->strands[thread].file, w->strands[thread].line);
    }
    w->barriers++;
    return w->trace ? locate_traced(w, gm_trace_barrier(w->trace)) : GM_OK;
}

/* Some warps wait on mbarriers that other warps may have served since. */
static gm_status serve_mbarriers(worker *w)
{
    while (w->at_mbarrier > 0) {
        bool progress = false;
        for (int first = 0; first < w->threads; first += GM_WARP) {
            int last = first + GM_WARP < w->threads ? first + GM_WARP : w->threads;
            gm_status status = run_waiting(w, first, last, &progress);
            if (status == GM_OK && w->trace) {
                status = gm_trace_flush(w->trace, first / GM_WARP);
            }
            if (status != GM_OK) {
                return status;
            }
        }
        if (!progress) {
            int t = 0;
            while (w->strands[t].state != AT_MBARRIER) {
                t++;
            }
            w->lane->thread_index = w->strands[t].index;
            gm_fail(GM_ERROR_SIMULATION, "waits on an mbarrier whose bytes never come");
            return locate(w, w->strands[t].file, w->strands[t].line);
        }
        gm_status status = look_up(w);
        if (status != GM_OK) {
            return status;
        }
    }
    return GM_OK;
}

static gm_status run_block(worker *w, int64_t number)
{
    const gm_dim grid = w->grid->grid;
    w->lane->block_index =
        (gm_index){(unsigned)(number % grid.x), (unsigned)(number / grid.x % grid.y),
                   (unsigned)(number / grid.x / grid.y)};
    w->done = 0;
    if (w->trace) {
        gm_index b = w->lane->block_index;
        gm_status status = gm_trace_block(w->trace, (gm_dim){b.x, b.y, b.z}, number);
        if (status != GM_OK) {
            return status;
        }
    }
    for (bool fresh = true; w->done < w->threads; fresh = false) {
        if (!fresh) {
            gm_status status = meet(w);
            if (status != GM_OK) {
                return status;
            }
        }
        for (int first = 0; first < w->threads; first += GM_WARP) {
            int last = first + GM_WARP < w->threads ? first + GM_WARP : w->threads;
            gm_status status = run_warp(w, first, last, fresh);
            if (status != GM_OK) {
                return status;
            }
        }
        gm_status status = serve_mbarriers(w);
        if (status != GM_OK) {
            return status;
        }
    }
    w->warps += (w->threads + GM_WARP - 1) / GM_WARP;
    return w->trace ? locate_traced(w, gm_trace_block_end(w->trace)) : GM_OK;
}

/* ---- host threads ------------------------------------------------------------------------- */

/* Workers are kept for the next launch: their stacks cost more than a small grid. */
GM_FORK_LOCK(idle_lock);
static worker *idle_workers;

static void worker_free(worker *w)
{
    gm_fiber_pool_free(&w->fibers);
    free(w->strands);
    free(w->dynamic_shared);
    free(w);
}

static void worker_give(worker *w)
{
    if (w->failed) {
        worker_free(w);
        return;
    }
    pthread_mutex_lock(&idle_lock);
    w->next_idle = idle_workers;
    idle_workers = w;
    pthread_mutex_unlock(&idle_lock);
}

static worker *worker_take(shared_state *shared, bool polls)
{
    const gm_grid *grid = shared->grid;
    pthread_mutex_lock(&idle_lock);
    worker *w = idle_workers;
    idle_workers = w ? w->next_idle : NULL;
    pthread_mutex_unlock(&idle_lock);
    if (!w && !(w = calloc(1, sizeof *w))) {
        gm_fail(GM_ERROR_MEMORY, "out of memory for a host thread of the simulator");
        return NULL;
    }
    w->grid = grid;
    w->shared = shared;
    w->trace = NULL;
    w->polls = polls;
    w->at_warp = w->at_mbarrier = 0;
    w->barriers = w->warps = 0;
    w->threads = (int)(grid->block.x * grid->block.y * grid->block.z);
    free(w->strands);
    free(w->dynamic_shared);
    w->strands = calloc((size_t)w->threads, sizeof *w->strands);
    /* As aligned as GM_DYNAMIC_SHARED promises. */
    w->dynamic_shared = aligned_alloc(1024, (grid->shared_bytes + 1024) & ~(size_t)1023);
    if (!w->strands || !w->dynamic_shared) {
        worker_free(w);
        gm_fail(GM_ERROR_MEMORY, "out of memory for the threads of a block");
        return NULL;
    }
    for (int t = 0; t < w->threads; t++) {
        unsigned i = (unsigned)t;
        w->strands[t].index = (gm_index){i % grid->block.x, i / grid->block.x % grid->block.y,
                                         i / grid->block.x / grid->block.y};
    }
    w->last_look = 0; /* the first warp may be slow: it tells */
    w->last_poll = gm_coarse_now();
    return w;
}

static void note_failure(shared_state *shared, int64_t block)
{
    pthread_mutex_lock(&shared->lock);
    /* Blocks are handed out in order, so every lower block ran or runs: the lowest failing
     * block is the same whatever the number of host threads. */
    if (shared->failed_block < 0 || block < shared->failed_block) {
        shared->failed_block = block;
        shared->error = *gm_last_error();
    }
    atomic_store(&shared->next_block, shared->blocks);
    pthread_mutex_unlock(&shared->lock);
}

static void worker_run(worker *w)
{
    shared_state *shared = w->shared;
    const gm_grid *grid = w->grid;
    worker *outer = current;
    gm_lane_state outer_lane = gm_lane;

    current = w;
    w->lane = &gm_lane;
    gm_lane.block_dim = (gm_index){grid->block.x, grid->block.y, grid->block.z};
    gm_lane.grid_dim = (gm_index){grid->grid.x, grid->grid.y, grid->grid.z};
    gm_lane.dynamic_shared = w->dynamic_shared;
    for (;;) {
        int64_t block = atomic_fetch_add(&shared->next_block, 1);
        if (block >= shared->blocks) {
            break;
        }
        gm_status status = run_block(w, block);
        if (status != GM_OK) {
            w->failed = true; /* its fibers stand in mid-kernel */
            if (!atomic_load(&shared->stop) || status != GM_ERROR_INTERRUPTED) {
                note_failure(shared, block);
            }
            if (status == GM_ERROR_INTERRUPTED) {
                atomic_store(&shared->stop, true);
            }
            break;
        }
    }
    current = outer;
    gm_lane = outer_lane;
}

static void *worker_main(void *argument)
{
    worker *w = argument;
    worker_run(w);
    return NULL;
}

static gm_status run_traced(shared_state *shared)
{
    const gm_grid *grid = shared->grid;
    gm_trace *trace = grid->trace;
    worker *w = worker_take(shared, true);
    if (!w) {
        return gm_last_error()->status;
    }
    w->trace = trace;
    gm_trace_launch launch = {
        .grid = grid->grid,
        .block = grid->block,
        .args = grid->args,
        .args_size = grid->args_size,
        .shared_dynamic = w->dynamic_shared,
        .shared_bytes = grid->shared_bytes,
        .stacks = &w->fibers,
    };
    gm_status status = gm_trace_begin(trace, &launch);
    if (status == GM_OK) {
        const uintptr_t low = trace->shared_low, high = trace->shared_high;
        trace->shared_low = UINTPTR_MAX;
        trace->shared_high = 0;
        worker_run(w);
        gm_trace_kernel kernel = {
            .name = grid->name,
            .doc = grid->doc,
            .grid = grid->grid,
            .block = grid->block,
            .shared_bytes = (int64_t)grid->shared_bytes,
            .threads = shared->blocks * w->threads,
            .warps = w->warps,
            .barriers = w->barriers,
        };
        if (trace->shared_high > trace->shared_low) {
            kernel.shared_bytes += (int64_t)(trace->shared_high - trace->shared_low);
        }
        trace->shared_low = low < trace->shared_low ? low : trace->shared_low;
        trace->shared_high = high > trace->shared_high ? high : trace->shared_high;
        status = gm_trace_kernel_add(trace, &kernel);
    }
    gm_trace_end(trace);
    worker_give(w);
    return status;
}

static gm_status run_plain(shared_state *shared)
{
    const gm_grid *grid = shared->grid;
    worker *workers[GM_MAX_HOST_THREADS];
    pthread_t threads[GM_MAX_HOST_THREADS];

    int64_t block_threads = (int64_t)grid->block.x * grid->block.y * grid->block.z;
    int64_t wanted = grid->host_threads;
    int64_t worth = 1 + shared->blocks / (1 + THREADS_WORTH_A_HOST_THREAD / block_threads);
    wanted = wanted < worth ? wanted : worth;
    wanted = wanted < shared->blocks ? wanted : shared->blocks;

    workers[0] = worker_take(shared, true);
    if (!workers[0]) {
        return gm_last_error()->status;
    }
    int started = 1;
    for (; started < wanted; started++) {
        worker *w = worker_take(shared, false);
        if (!w) {
            break; /* fewer host threads, the same result */
        }
        if (pthread_create(&threads[started], NULL, worker_main, w) != 0) {
            worker_give(w);
            break;
        }
        workers[started] = w;
    }
    worker_run(workers[0]);
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
    shared_state shared = {.grid = grid, .failed_block = -1};
    shared.blocks = (int64_t)grid->grid.x * grid->grid.y * grid->grid.z;
    pthread_mutex_init(&shared.lock, NULL);
    gm_status status = grid->trace ? run_traced(&shared) : run_plain(&shared);
    pthread_mutex_destroy(&shared.lock);
    if (status == GM_OK && shared.failed_block >= 0) {
        *gm_last_error() = shared.error;
        status = shared.error.status;
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
    nested_run *run = argument;
    run->status = run_here(run->grid);
    run->error = *gm_last_error();
    return NULL;
}

/* The poll hook may run a kernel of its own, in the midst of a block here: that kernel needs
 * other __shared__ variables than the block's, so another host thread. */
static gm_status run_nested(const gm_grid *grid)
{
    nested_run run = {.grid = grid};
    pthread_t thread;
    if (pthread_create(&thread, NULL, nested_main, &run) != 0) {
        return gm_fail(GM_ERROR_MEMORY, "no host thread for a kernel within a kernel");
    }
    pthread_join(thread, NULL);
    if (run.status != GM_OK) {
        *gm_last_error() = run.error;
    }
    return run.status;
}

gm_status gm_grid_run(const gm_grid *grid)
{
    return current ? run_nested(grid) : run_here(grid);
}
