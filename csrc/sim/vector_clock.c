/*
 * Order within a block, by vector clocks.
 *
 * A warp's clock ticks at each of its ordering events. A thread keeps, for each lane of its own
 * warp, the tick up to which that lane's actions are ordered before it. It keeps the same for all
 * threads of the block only once it has waited on an mbarrier, which orders other warps before it.
 * Ticks never go back, so that nothing has to be cleared at a barrier.
 */
#include "sim/vector_clock.h"

#include <stdlib.h>
#include <string.h>

typedef struct mbarrier_clock {
    const void *address;
    uint32_t *arrived; /* per thread, for the phase under way and all phases before it */
    uint32_t *complete;
} mbarrier_clock;

struct gm_vector_clock {
    int threads; /* rounded up to whole warps */
    uint32_t interval;
    uint32_t *ticks;            /* per warp */
    uint32_t (*known)[GM_WARP]; /* per thread and lane of its warp: ordered up to this tick */
    uint32_t *learnt;    /* the same, threads x threads; NULL until a thread waits on an mbarrier */
    uint32_t *learnt_in; /* per warp: the interval in which a lane last learnt something */
    mbarrier_clock *mbarriers;
    int mbarrier_count, mbarrier_room;
};

gm_vector_clock *gm_clock_create(int threads)
{
    gm_vector_clock *clock = calloc(1, sizeof *clock);
    if (!clock) {
        return NULL;
    }
    clock->threads = (threads + GM_WARP - 1) / GM_WARP * GM_WARP;
    clock->ticks = calloc((size_t)clock->threads / GM_WARP, sizeof *clock->ticks);
    clock->learnt_in = calloc((size_t)clock->threads / GM_WARP, sizeof *clock->learnt_in);
    clock->known = calloc((size_t)clock->threads, sizeof *clock->known);
    if (!clock->ticks || !clock->learnt_in || !clock->known) {
        gm_clock_destroy(clock);
        return NULL;
    }
    return clock;
}

void gm_clock_destroy(gm_vector_clock *clock)
{
    if (!clock) {
        return;
    }
    for (int i = 0; i < clock->mbarrier_room; i++) {
        free(clock->mbarriers[i].arrived);
        free(clock->mbarriers[i].complete);
    }
    free(clock->mbarriers);
    free(clock->ticks);
    free(clock->known);
    free(clock->learnt);
    free(clock->learnt_in);
    free(clock);
}

void gm_clock_barrier(gm_vector_clock *clock)
{
    clock->interval++;
}

void gm_clock_block(gm_vector_clock *clock)
{
    clock->interval++;
    clock->mbarrier_count = 0;
}

static void join(uint32_t *to, const uint32_t *from, int count)
{
    for (int i = 0; i < count; i++) {
        to[i] = to[i] < from[i] ? from[i] : to[i];
    }
}

/* Each of these lanes now knows what any of them has learnt of other warps. */
static void join_learnt(gm_vector_clock *clock, int first, unsigned lanes)
{
    uint32_t *all = &clock->learnt[(size_t)(first + __builtin_ctz(lanes)) * clock->threads];
    for (unsigned rest = lanes & (lanes - 1); rest; rest &= rest - 1) {
        join(all, &clock->learnt[(size_t)(first + __builtin_ctz(rest)) * clock->threads],
             clock->threads);
    }
    for (unsigned rest = lanes & (lanes - 1); rest; rest &= rest - 1) {
        memcpy(&clock->learnt[(size_t)(first + __builtin_ctz(rest)) * clock->threads], all,
               (size_t)clock->threads * sizeof *all);
    }
}

void gm_clock_warp(gm_vector_clock *clock, int first, unsigned lanes)
{
    int warp = first / GM_WARP;
    uint32_t after = ++clock->ticks[warp];
    uint32_t all[GM_WARP] = {0};
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        join(all, clock->known[first + __builtin_ctz(rest)], GM_WARP);
    }
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        all[__builtin_ctz(rest)] = after;
    }
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        memcpy(clock->known[first + __builtin_ctz(rest)], all, sizeof all);
    }
    if (clock->learnt && clock->learnt_in[warp] == clock->interval) {
        join_learnt(clock, first, lanes);
    }
}

/* ---- mbarriers ---------------------------------------------------------------------------- */

static mbarrier_clock *find(gm_vector_clock *clock, const void *mbarrier)
{
    for (int i = 0; i < clock->mbarrier_count; i++) {
        if (clock->mbarriers[i].address == mbarrier) {
            return &clock->mbarriers[i];
        }
    }
    return NULL;
}

static mbarrier_clock *find_or_make(gm_vector_clock *clock, const void *mbarrier)
{
    mbarrier_clock *m = find(clock, mbarrier);
    size_t bytes = (size_t)clock->threads * sizeof *m->arrived;
    if (m) {
        return m;
    }
    if (clock->mbarrier_count == clock->mbarrier_room) {
        int room = clock->mbarrier_room ? 2 * clock->mbarrier_room : 4;
        m = realloc(clock->mbarriers, (size_t)room * sizeof *m);
        if (!m) {
            return NULL;
        }
        memset(&m[clock->mbarrier_room], 0, (size_t)(room - clock->mbarrier_room) * sizeof *m);
        clock->mbarriers = m;
        clock->mbarrier_room = room;
    }
    m = &clock->mbarriers[clock->mbarrier_count];
    if (!m->arrived) {
        m->arrived = malloc(bytes);
    }
    if (!m->complete) {
        m->complete = malloc(bytes);
    }
    if (!m->arrived || !m->complete) {
        return NULL;
    }
    memset(m->arrived, 0, bytes);
    memset(m->complete, 0, bytes);
    m->address = mbarrier;
    clock->mbarrier_count++;
    return m;
}

static gm_status out_of_memory(void)
{
    return gm_fail(GM_ERROR_MEMORY, "out of memory for the vector clock of a block");
}

gm_status gm_clock_arrive(gm_vector_clock *clock, int thread, const void *mbarrier)
{
    mbarrier_clock *m = find_or_make(clock, mbarrier);
    int warp = thread / GM_WARP, first = warp * GM_WARP;
    if (!m) {
        return out_of_memory();
    }
    join(&m->arrived[first], clock->known[thread], GM_WARP);
    if (clock->learnt) {
        join(m->arrived, &clock->learnt[(size_t)thread * clock->threads], clock->threads);
    }
    /* Covers what the thread has done so far, not what follows: the clock ticks. */
    m->arrived[thread] = ++clock->ticks[warp];
    return GM_OK;
}

void gm_clock_phase(gm_vector_clock *clock, const void *mbarrier)
{
    mbarrier_clock *m = find(clock, mbarrier);
    if (m) {
        memcpy(m->complete, m->arrived, (size_t)clock->threads * sizeof *m->complete);
    }
}

gm_status gm_clock_wait(gm_vector_clock *clock, int thread, const void *mbarrier)
{
    const mbarrier_clock *m = find(clock, mbarrier);
    if (!m) {
        return GM_OK;
    }
    if (!clock->learnt) {
        clock->learnt =
            calloc((size_t)clock->threads * (size_t)clock->threads, sizeof *clock->learnt);
        if (!clock->learnt) {
            return out_of_memory();
        }
    }
    join(&clock->learnt[(size_t)thread * clock->threads], m->complete, clock->threads);
    clock->learnt_in[thread / GM_WARP] = clock->interval;
    return GM_OK;
}

void gm_clock_forget(gm_vector_clock *clock, const void *mbarrier)
{
    mbarrier_clock *m = find(clock, mbarrier);
    if (m) {
        memset(m->arrived, 0, (size_t)clock->threads * sizeof *m->arrived);
        memset(m->complete, 0, (size_t)clock->threads * sizeof *m->complete);
    }
}

/* ---- questions ---------------------------------------------------------------------------- */

uint32_t gm_clock_interval(const gm_vector_clock *clock)
{
    return clock->interval;
}

gm_moment gm_clock_now(const gm_vector_clock *clock, int thread)
{
    return (gm_moment){clock->interval, clock->ticks[thread / GM_WARP], thread};
}

unsigned gm_clock_unordered(const gm_vector_clock *clock, int warp, uint32_t tick, unsigned lanes,
                            int thread)
{
    unsigned unordered = lanes;
    if (warp == thread / GM_WARP) {
        unordered &= ~(1u << thread % GM_WARP);
        for (unsigned rest = unordered; rest; rest &= rest - 1) {
            unsigned lane = (unsigned)__builtin_ctz(rest);
            if (clock->known[thread][lane] > tick) {
                unordered &= ~(1u << lane);
            }
        }
    }
    if (unordered && clock->learnt) {
        const uint32_t *learnt =
            &clock->learnt[(size_t)thread * clock->threads + (size_t)warp * GM_WARP];
        for (unsigned rest = unordered; rest; rest &= rest - 1) {
            unsigned lane = (unsigned)__builtin_ctz(rest);
            if (learnt[lane] > tick) {
                unordered &= ~(1u << lane);
            }
        }
    }
    return unordered;
}

bool gm_clock_before(const gm_vector_clock *clock, gm_moment moment, int thread)
{
    return moment.interval != clock->interval ||
           !gm_clock_unordered(clock, moment.thread / GM_WARP, moment.tick,
                               1u << moment.thread % GM_WARP, thread);
}
