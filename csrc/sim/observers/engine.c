/*
 * Observer: pending copies of an engine (bulk, tensor) to and from shared memory.
 *
 * A thread may touch what the engine writes once it has waited for the mbarrier's phase, or is
 * ordered after a thread that has; then it may also write over what the engine reads of global
 * memory. What the engine reads of shared memory may be written over once the thread that asked for
 * the copy has waited until it is read. The simulator copies at once, and checks these
 * rules nevertheless.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/observer.h"

/* One contiguous piece of a copy. */
typedef struct pending_copy {
    uintptr_t begin, end; /* offsets in shared memory */
    gm_region source;     /* in global memory, if it writes */
    bool writes;
    bool complete; /* the phase of its mbarrier is complete */
    const void *mbarrier;
    uint32_t site, group;
    int thread;         /* the one that asked for it */
    gm_moment *waiters; /* the threads that have waited for it in this interval */
    int waiter_count, waiter_room;
    uint32_t waited[GM_WARP]; /* the same, a bit per thread */
} pending_copy;

typedef struct engine {
    pending_copy *copies;
    int count, room;
    uint32_t *committed; /* groups per thread */
    gm_region source;    /* of the copy that is being asked for */
} engine;

static gm_status out_of_memory(void)
{
    return gm_fail(GM_ERROR_MEMORY, "out of memory for pending copies");
}

static void drop(engine *e, int index)
{
    free(e->copies[index].waiters);
    e->copies[index] = e->copies[--e->count];
}

static void free_block(void *block_state)
{
    engine *e = block_state;
    while (e->count > 0) {
        drop(e, 0);
    }
    free(e->copies);
    free(e->committed);
}

static gm_status block_begins(void *state, gm_trace *trace)
{
    engine *e = gm_block_state(trace, GM_OBSERVER_engine);
    (void)state;
    while (e->count > 0) {
        drop(e, 0);
    }
    e->source = (gm_region){0, 0};
    if (!e->committed) {
        e->committed = calloc((size_t)trace->block_threads, sizeof *e->committed);
        return e->committed ? GM_OK : out_of_memory();
    }
    memset(e->committed, 0, (size_t)trace->block_threads * sizeof *e->committed);
    return GM_OK;
}

/* All threads have met, and so are ordered after every wait. */
static gm_status barrier(void *state, gm_trace *trace)
{
    engine *e = gm_block_state(trace, GM_OBSERVER_engine);
    (void)state;
    for (int i = e->count; i-- > 0;) {
        if (e->copies[i].waiter_count > 0) {
            drop(e, i);
        }
    }
    return GM_OK;
}

/* ---- waiting ------------------------------------------------------------------------------ */

static bool has_waited(const pending_copy *c, int thread)
{
    return c->waited[thread / 32] >> thread % 32 & 1;
}

static gm_status add_waiter(pending_copy *c, const gm_trace *trace)
{
    if (has_waited(c, trace->thread)) {
        return GM_OK;
    }
    if (c->waiter_count == c->waiter_room) {
        int room = c->waiter_room ? 2 * c->waiter_room : 4;
        gm_moment *waiters = realloc(c->waiters, (size_t)room * sizeof *waiters);
        if (!waiters) {
            return out_of_memory();
        }
        c->waiters = waiters;
        c->waiter_room = room;
    }
    c->waiters[c->waiter_count++] = gm_clock_now(trace->clock, trace->thread);
    c->waited[trace->thread / 32] |= 1u << trace->thread % 32;
    return GM_OK;
}

/* Is the end of the copy ordered before the running thread? */
static bool is_over(const pending_copy *c, const gm_trace *trace)
{
    if (has_waited(c, trace->thread)) {
        return true;
    }
    for (int i = 0; i < c->waiter_count; i++) {
        if (gm_clock_before(trace->clock, c->waiters[i], trace->thread)) {
            return true;
        }
    }
    return false;
}

static gm_status sync(void *state, gm_trace *trace, const gm_sync *sync)
{
    engine *e = gm_block_state(trace, GM_OBSERVER_engine);
    (void)state;
    gm_status status = GM_OK;
    uint32_t *committed = &e->committed[trace->thread];
    if (sync->kind == GM_ENGINE_COMMIT) {
        ++*committed;
        return GM_OK;
    }
    for (int i = 0; i < e->count && status == GM_OK; i++) {
        pending_copy *c = &e->copies[i];
        if (sync->kind == GM_MBARRIER_PHASE && c->mbarrier == sync->mbarrier && c->writes) {
            c->complete = true;
        } else if (sync->kind == GM_MBARRIER_WAIT && c->mbarrier == sync->mbarrier && c->complete) {
            status = add_waiter(c, trace);
        } else if (sync->kind == GM_ENGINE_WAIT_READ && !c->writes && c->thread == trace->thread &&
                   c->group + sync->pending < *committed) {
            status = add_waiter(c, trace);
        }
    }
    return status;
}

/* ---- accesses ----------------------------------------------------------------------------- */

static gm_status clash(const gm_trace *trace, const pending_copy *c, bool write,
                       const char *copy_does)
{
    const gm_site *site = &trace->sites.list[c->site];
    gm_dim mine = gm_trace_thread(trace, trace->thread), other = gm_trace_thread(trace, c->thread);
    const char *does = write ? "writes over" : "reads";
    const char *missing = c->writes ? "waiting for its mbarrier" : "waiting until it has been read";
    if (trace->call->actor == GM_BY_ENGINE) {
        does = write ? "has the copy engine write over" : "has the copy engine read";
    }
    if (c->waiter_count > 0) {
        gm_dim who = gm_trace_thread(trace, c->waiters[0].thread);
        return gm_find(GM_RULE_RACE_COPY,
                       "a race: thread (%u, %u, %u) %s what the copy of thread (%u, %u, %u) at "
                       "%s:%d %s, with no barrier after thread (%u, %u, %u) has waited for it",
                       mine.x, mine.y, mine.z, does, other.x, other.y, other.z, site->file,
                       site->line, copy_does, who.x, who.y, who.z);
    }
    return gm_find(GM_RULE_RACE_COPY,
                   "a race: thread (%u, %u, %u) %s what the copy of thread (%u, %u, %u) at %s:%d "
                   "%s, without %s",
                   mine.x, mine.y, mine.z, does, other.x, other.y, other.z, site->file, site->line,
                   copy_does, missing);
}

static gm_status add_copy(engine *e, const gm_trace *trace, pending_copy made)
{
    if (e->count == e->room) {
        int room = e->room ? 2 * e->room : 16;
        pending_copy *copies = realloc(e->copies, (size_t)room * sizeof *copies);
        if (!copies) {
            return out_of_memory();
        }
        e->copies = copies;
        e->room = room;
    }
    /* A thread ordered after the end of this copy is also ordered after the end of those that it
     * replaces. */
    for (int i = e->count; made.writes && i-- > 0;) {
        if (made.begin <= e->copies[i].begin && e->copies[i].end <= made.end) {
            drop(e, i);
        }
    }
    e->copies[e->count++] = made;
    /* The end of the copy comes after all that the thread did before it asked for it. */
    return made.writes ? gm_clock_arrive(trace->clock, trace->thread, made.mbarrier) : GM_OK;
}

/* Global memory: what the engine may still have to read. */
static gm_status access_source(engine *e, const gm_trace *trace, const gm_access *access,
                               const gm_site *site)
{
    gm_region accessed = {access->address, access->address + access->bytes};
    if (site->kind == GM_LOAD) {
        e->source = site->actor == GM_BY_ENGINE ? accessed : e->source;
        return GM_OK;
    }
    for (int i = 0; i < e->count; i++) {
        const pending_copy *c = &e->copies[i];
        if (gm_regions_meet(accessed, c->source) && !is_over(c, trace)) {
            return clash(trace, c, true, "reads");
        }
    }
    return GM_OK;
}

static gm_status access(void *state, gm_trace *trace, const gm_access *access)
{
    engine *e = gm_block_state(trace, GM_OBSERVER_engine);
    (void)state;
    const gm_site *site = &trace->sites.list[access->site];
    bool write = site->kind == GM_STORE;
    if (e->count == 0 && site->actor != GM_BY_ENGINE) {
        return GM_OK;
    }
    if (site->space == GM_SPACE_GLOBAL) {
        return access_source(e, trace, access, site);
    }
    uintptr_t from = gm_shared_offset(&trace->spaces, access->address), to = from + access->bytes;
    for (int i = 0; i < e->count; i++) {
        const pending_copy *c = &e->copies[i];
        if (c->begin < to && from < c->end && (c->writes || write) && !is_over(c, trace)) {
            return clash(trace, c, write, c->writes ? "writes" : "reads");
        }
    }
    if (site->actor != GM_BY_ENGINE) {
        return GM_OK;
    }
    gm_region source = write ? e->source : (gm_region){0, 0};
    e->source = (gm_region){0, 0};
    return add_copy(e, trace,
                    (pending_copy){.begin = from,
                                   .end = to,
                                   .source = source,
                                   .writes = write,
                                   .mbarrier = trace->call->mbarrier,
                                   .site = access->site,
                                   .group = e->committed[trace->thread],
                                   .thread = trace->thread});
}

/* ---- the end ------------------------------------------------------------------------------ */

static gm_status never_waited(gm_trace *trace, const pending_copy *c, const char *what)
{
    const gm_site *site = &trace->sites.list[c->site];
    gm_trace_place(trace, site->file, site->line, c->thread);
    return gm_find(GM_RULE_COPY_NOT_AWAITED, "%s", what);
}

/* Only the thread that asked can wait until the engine has read. */
static gm_status thread_end(void *state, gm_trace *trace)
{
    const engine *e = gm_block_state(trace, GM_OBSERVER_engine);
    (void)state;
    for (int i = 0; i < e->count; i++) {
        const pending_copy *c = &e->copies[i];
        if (!c->writes && c->thread == trace->thread && c->waiter_count == 0) {
            return never_waited(trace, c,
                                "a copy out of shared memory, whose thread ends without waiting "
                                "until the engine has read it");
        }
    }
    return GM_OK;
}

static gm_status block_end(void *state, gm_trace *trace)
{
    const engine *e = gm_block_state(trace, GM_OBSERVER_engine);
    (void)state;
    for (int i = 0; i < e->count; i++) {
        const pending_copy *c = &e->copies[i];
        if (c->writes && c->waiter_count == 0) {
            return never_waited(trace, c,
                                "a copy into shared memory that no thread waits for before the "
                                "block ends");
        }
    }
    return GM_OK;
}

const gm_observer gm_observer_engine = {
    .name = "engine",
    .block_bytes = sizeof(engine),
    .accesses = GM_SEES(GM_SPACE_SHARED) | GM_SEES(GM_SPACE_GLOBAL),
    .after = GM_SEES(GM_BY_ENGINE),
    .about_order = true,
    .free_block = free_block,
    .block = block_begins,
    .block_end = block_end,
    .barrier = barrier,
    .thread_end = thread_end,
    .sync = sync,
    .access = access,
};
