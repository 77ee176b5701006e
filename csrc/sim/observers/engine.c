/*
 * Observer: copies by an engine (bulk, tensor) that are under way in shared memory.
 *
 * What the engine writes may be touched by who has waited for the mbarrier's phase, or is ordered
 * after one who has. What it reads may be written over once the thread that asked has waited for
 * the reading. The simulator copies at once; the rules are held to nevertheless.
 */
#include <stdlib.h>

#include "sim/observer.h"

/* One piece of a copy. */
typedef struct flight {
    uintptr_t begin, end; /* offsets in shared memory */
    bool writes;
    bool complete; /* the phase of the mbarrier is */
    const void *mbarrier;
    uint32_t site, group;
    int thread;         /* that asked for it */
    gm_moment *waiters; /* who has waited for it, in this interval */
    int waiter_count, waiter_room;
    uint32_t waited[GM_WARP]; /* the same, a bit per thread */
} flight;

typedef struct mbarrier {
    const void *address;
    gm_moment made;
} mbarrier;

typedef struct engine {
    flight *flights;
    int count, room;
    mbarrier *mbarriers;
    int mbarrier_count, mbarrier_room;
    uint32_t *committed; /* groups per thread */
} engine;

static gm_status out_of_memory(void)
{
    return gm_fail(GM_ERROR_MEMORY, "out of memory for copies that are under way");
}

static gm_status begin(void *state, gm_trace *trace)
{
    engine *e = state;
    e->committed = calloc((size_t)trace->block_threads, sizeof *e->committed);
    return e->committed ? GM_OK : out_of_memory();
}

static void drop(engine *e, int index)
{
    free(e->flights[index].waiters);
    e->flights[index] = e->flights[--e->count];
}

static void end(void *state, gm_trace *trace)
{
    engine *e = state;
    (void)trace;
    while (e->count > 0) {
        drop(e, 0);
    }
    free(e->flights);
    free(e->mbarriers);
    free(e->committed);
}

static gm_status block_begins(void *state, gm_trace *trace)
{
    engine *e = state;
    while (e->count > 0) {
        drop(e, 0);
    }
    e->mbarrier_count = 0;
    for (int i = 0; i < trace->block_threads; i++) {
        e->committed[i] = 0;
    }
    return GM_OK;
}

/* All threads have met, so they are ordered after every wait. */
static gm_status barrier(void *state, gm_trace *trace)
{
    engine *e = state;
    (void)trace;
    for (int i = e->count; i-- > 0;) {
        if (e->flights[i].waiter_count > 0) {
            drop(e, i);
        }
    }
    return GM_OK;
}

/* ---- waiting ------------------------------------------------------------------------------ */

static bool has_waited(const flight *f, int thread)
{
    return f->waited[thread / 32] >> thread % 32 & 1;
}

static gm_status add_waiter(flight *f, const gm_trace *trace)
{
    if (has_waited(f, trace->thread)) {
        return GM_OK;
    }
    if (f->waiter_count == f->waiter_room) {
        int room = f->waiter_room ? 2 * f->waiter_room : 4;
        gm_moment *waiters = realloc(f->waiters, (size_t)room * sizeof *waiters);
        if (!waiters) {
            return out_of_memory();
        }
        f->waiters = waiters;
        f->waiter_room = room;
    }
    f->waiters[f->waiter_count++] = gm_clock_now(trace->clock, trace->thread);
    f->waited[trace->thread / 32] |= 1u << trace->thread % 32;
    return GM_OK;
}

/* Is the flight over, as far as the running thread can know? */
static bool is_over(const flight *f, const gm_trace *trace)
{
    if (has_waited(f, trace->thread)) {
        return true;
    }
    for (int i = 0; i < f->waiter_count; i++) {
        if (gm_clock_before(trace->clock, f->waiters[i], trace->thread)) {
            return true;
        }
    }
    return false;
}

static mbarrier *find_mbarrier(engine *e, const void *address)
{
    for (int i = 0; i < e->mbarrier_count; i++) {
        if (e->mbarriers[i].address == address) {
            return &e->mbarriers[i];
        }
    }
    return NULL;
}

static gm_status make_mbarrier(engine *e, const gm_trace *trace, const gm_sync *sync)
{
    mbarrier *m = find_mbarrier(e, sync->mbarrier);
    if (!m && e->mbarrier_count == e->mbarrier_room) {
        int room = e->mbarrier_room ? 2 * e->mbarrier_room : 8;
        mbarrier *mbarriers = realloc(e->mbarriers, (size_t)room * sizeof *mbarriers);
        if (!mbarriers) {
            return out_of_memory();
        }
        e->mbarriers = mbarriers;
        e->mbarrier_room = room;
    }
    m = m ? m : &e->mbarriers[e->mbarrier_count++];
    *m = (mbarrier){.address = sync->mbarrier, .made = gm_clock_now(trace->clock, trace->thread)};
    return GM_OK;
}

/* May the running thread use the mbarrier? */
static gm_status check_mbarrier(engine *e, const gm_trace *trace, const void *address)
{
    const mbarrier *m = find_mbarrier(e, address);
    if (!m) {
        return gm_fail(GM_ERROR_SIMULATION,
                       "uses an mbarrier that nothing in the block has initialised");
    }
    if (!gm_clock_before(trace->clock, m->made, trace->thread)) {
        gm_dim other = gm_trace_thread(trace, m->made.thread);
        return gm_fail(GM_ERROR_SIMULATION,
                       "a race: uses an mbarrier that thread (%u, %u, %u) initialised, with no "
                       "barrier between",
                       other.x, other.y, other.z);
    }
    return GM_OK;
}

static gm_status sync(void *state, gm_trace *trace, const gm_sync *sync)
{
    engine *e = state;
    gm_status status = GM_OK;
    uint32_t *committed = &e->committed[trace->thread];
    if (sync->kind == GM_MBARRIER_INIT) {
        return make_mbarrier(e, trace, sync);
    }
    if (sync->kind == GM_ENGINE_COMMIT) {
        ++*committed;
        return GM_OK;
    }
    if (sync->kind == GM_MBARRIER_ARRIVE || sync->kind == GM_MBARRIER_WAIT) {
        status = check_mbarrier(e, trace, sync->mbarrier);
    }
    for (int i = 0; i < e->count && status == GM_OK; i++) {
        flight *f = &e->flights[i];
        if (sync->kind == GM_MBARRIER_PHASE && f->mbarrier == sync->mbarrier && f->writes) {
            f->complete = true;
        } else if (sync->kind == GM_MBARRIER_WAIT && f->mbarrier == sync->mbarrier && f->complete) {
            status = add_waiter(f, trace);
        } else if (sync->kind == GM_ENGINE_WAIT_READ && !f->writes && f->thread == trace->thread &&
                   f->group + sync->pending < *committed) {
            status = add_waiter(f, trace);
        }
    }
    return status;
}

/* ---- accesses ----------------------------------------------------------------------------- */

static gm_status clash(const gm_trace *trace, const flight *f, bool write)
{
    const gm_site *site = &trace->sites.list[f->site];
    gm_dim mine = gm_trace_thread(trace, trace->thread), other = gm_trace_thread(trace, f->thread);
    const char *does = write ? "writes over" : "reads";
    const char *missing = f->writes ? "waiting for its mbarrier" : "waiting until it has been read";
    if (trace->call->actor == GM_BY_ENGINE) {
        does = write ? "has the copy engine write over" : "has the copy engine read";
    }
    if (f->waiter_count > 0) {
        gm_dim who = gm_trace_thread(trace, f->waiters[0].thread);
        return gm_fail(GM_ERROR_SIMULATION,
                       "a race: thread (%u, %u, %u) %s what the copy of thread (%u, %u, %u) at "
                       "%s:%d %s, with no barrier after thread (%u, %u, %u) has waited for it",
                       mine.x, mine.y, mine.z, does, other.x, other.y, other.z, site->file,
                       site->line, f->writes ? "writes" : "reads", who.x, who.y, who.z);
    }
    return gm_fail(GM_ERROR_SIMULATION,
                   "a race: thread (%u, %u, %u) %s what the copy of thread (%u, %u, %u) at %s:%d "
                   "%s, without %s",
                   mine.x, mine.y, mine.z, does, other.x, other.y, other.z, site->file, site->line,
                   f->writes ? "writes" : "reads", missing);
}

static gm_status take_off(engine *e, const gm_trace *trace, flight made)
{
    if (e->count == e->room) {
        int room = e->room ? 2 * e->room : 16;
        flight *flights = realloc(e->flights, (size_t)room * sizeof *flights);
        if (!flights) {
            return out_of_memory();
        }
        e->flights = flights;
        e->room = room;
    }
    /* Whoever is ordered after the end of this copy is so after the end of those that it
     * replaces. */
    for (int i = e->count; made.writes && i-- > 0;) {
        if (made.begin <= e->flights[i].begin && e->flights[i].end <= made.end) {
            drop(e, i);
        }
    }
    e->flights[e->count++] = made;
    if (!made.writes) {
        return GM_OK;
    }
    gm_status status = check_mbarrier(e, trace, made.mbarrier);
    /* The end of the copy comes after all that the thread did before it asked. */
    return status == GM_OK ? gm_clock_arrive(trace->clock, trace->thread, made.mbarrier) : status;
}

static gm_status access(void *state, gm_trace *trace, const gm_access *access)
{
    engine *e = state;
    const gm_site *site = &trace->sites.list[access->site];
    bool write = site->kind == GM_STORE;
    if (e->count == 0 && site->actor != GM_BY_ENGINE) {
        return GM_OK;
    }
    uintptr_t from = gm_shared_offset(&trace->spaces, access->address), to = from + access->bytes;
    for (int i = 0; i < e->count; i++) {
        const flight *f = &e->flights[i];
        if (f->begin < to && from < f->end && (f->writes || write) && !is_over(f, trace)) {
            return clash(trace, f, write);
        }
    }
    if (site->actor != GM_BY_ENGINE) {
        return GM_OK;
    }
    return take_off(e, trace,
                    (flight){.begin = from,
                             .end = to,
                             .writes = write,
                             .mbarrier = trace->call->mbarrier,
                             .site = access->site,
                             .group = e->committed[trace->thread],
                             .thread = trace->thread});
}

/* ---- the end ------------------------------------------------------------------------------ */

static gm_status never_waited(gm_trace *trace, const flight *f, const char *what)
{
    const gm_site *site = &trace->sites.list[f->site];
    gm_trace_place(trace, site->file, site->line, f->thread);
    return gm_fail(GM_ERROR_SIMULATION, "%s", what);
}

/* Nobody else can wait for what a thread has the engine read. */
static gm_status thread_end(void *state, gm_trace *trace)
{
    const engine *e = state;
    for (int i = 0; i < e->count; i++) {
        const flight *f = &e->flights[i];
        if (!f->writes && f->thread == trace->thread && f->waiter_count == 0) {
            return never_waited(trace, f,
                                "a copy out of shared memory, which is the block's only while it "
                                "lives, and the thread ends without waiting until it has been "
                                "read");
        }
    }
    return GM_OK;
}

static gm_status block_end(void *state, gm_trace *trace)
{
    const engine *e = state;
    for (int i = 0; i < e->count; i++) {
        if (e->flights[i].writes && e->flights[i].waiter_count == 0) {
            return never_waited(trace, &e->flights[i],
                                "a copy into shared memory for which nobody waits before the "
                                "block ends");
        }
    }
    return GM_OK;
}

const gm_observer gm_observer_engine = {
    .name = "engine",
    .state_bytes = sizeof(engine),
    .accesses = GM_SEES(GM_SPACE_SHARED),
    .about_order = true,
    .begin = begin,
    .end = end,
    .block = block_begins,
    .block_end = block_end,
    .barrier = barrier,
    .thread_end = thread_end,
    .sync = sync,
    .access = access,
};
