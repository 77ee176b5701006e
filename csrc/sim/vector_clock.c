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
    int64_t block;
    gm_handover *handover; /* NULL until a thread fences or learns of another */
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
    gm_handover_destroy(clock->handover);
    free(clock);
}

static gm_status out_of_memory(void)
{
    return gm_fail(GM_ERROR_MEMORY, "out of memory for the vector clock of a block");
}

gm_status gm_clock_barrier(gm_vector_clock *clock)
{
    clock->interval++;
    return clock->handover && !gm_handover_barrier(clock->handover) ? out_of_memory() : GM_OK;
}

void gm_clock_block(gm_vector_clock *clock, int64_t number)
{
    clock->interval++;
    clock->mbarrier_count = 0;
    clock->block = number;
    if (clock->handover) {
        gm_handover_forget(clock->handover);
    }
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

gm_status gm_clock_warp(gm_vector_clock *clock, int first, unsigned lanes)
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
    bool ok = !clock->handover || gm_handover_warp(clock->handover, first, lanes);
    return ok ? GM_OK : out_of_memory();
}

/* The thread learns the ticks of the block's threads up to which their actions come before. */
static gm_status learn(gm_vector_clock *clock, int thread, const uint32_t *ticks)
{
    if (!clock->learnt) {
        clock->learnt =
            calloc((size_t)clock->threads * (size_t)clock->threads, sizeof *clock->learnt);
        if (!clock->learnt) {
            return out_of_memory();
        }
    }
    join(&clock->learnt[(size_t)thread * clock->threads], ticks, clock->threads);
    clock->learnt_in[thread / GM_WARP] = clock->interval;
    return GM_OK;
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
    return m ? learn(clock, thread, m->complete) : GM_OK;
}

void gm_clock_forget(gm_vector_clock *clock, const void *mbarrier)
{
    mbarrier_clock *m = find(clock, mbarrier);
    if (m) {
        memset(m->arrived, 0, (size_t)clock->threads * sizeof *m->arrived);
        memset(m->complete, 0, (size_t)clock->threads * sizeof *m->complete);
    }
}

/* ---- fences and atomic operations --------------------------------------------------------- */

static bool hands_over(gm_vector_clock *clock)
{
    if (!clock->handover) {
        clock->handover = gm_handover_create(clock->threads);
    }
    return clock->handover;
}

/* What the thread has done, and knows of its block. */
static gm_view *own_view(gm_vector_clock *clock, int thread)
{
    int warp = thread / GM_WARP;
    gm_ticks *ticks = calloc(1, sizeof *ticks + (size_t)clock->threads * sizeof ticks->of[0]);
    if (!ticks) {
        return NULL;
    }
    ticks->users = 1;
    if (clock->learnt) {
        join(ticks->of, &clock->learnt[(size_t)thread * clock->threads], clock->threads);
    }
    join(&ticks->of[(size_t)warp * GM_WARP], clock->known[thread], GM_WARP);
    ticks->of[thread] = ++clock->ticks[warp]; /* not what follows */
    return gm_view_of_block(clock->block, clock->interval, ticks);
}

/* What a view says of the clock's own block. */
static gm_status learn_own(gm_vector_clock *clock, int thread, const gm_view *view)
{
    const gm_block_view *own = gm_view_find(view, clock->block);
    bool is_new = own && own->interval == clock->interval && own->ticks;
    return is_new ? learn(clock, thread, own->ticks->of) : GM_OK;
}

gm_status gm_clock_fence(gm_vector_clock *clock, int thread, gm_reach reach, bool releases)
{
    if (!hands_over(clock)) {
        return out_of_memory();
    }
    for (int r = 0; r <= (int)reach; r++) {
        gm_status status = learn_own(clock, thread, clock->handover->of[thread].seen[r]);
        if (status != GM_OK) {
            return status;
        }
    }
    gm_view *own = releases ? own_view(clock, thread) : NULL;
    bool ok = (own || !releases) && gm_handover_fence(clock->handover, thread, reach, own);
    gm_view_drop(own);
    return ok ? GM_OK : out_of_memory();
}

gm_status gm_clock_released(const gm_vector_clock *clock, int thread, gm_reach reach,
                            gm_view **view)
{
    *view = NULL;
    bool ok = !clock->handover || gm_handover_released(clock->handover, thread, reach, view);
    return ok ? GM_OK : out_of_memory();
}

gm_status gm_clock_learn(gm_vector_clock *clock, int thread, gm_view *view)
{
    if (!hands_over(clock) || !gm_handover_learn(clock->handover, thread, view)) {
        return out_of_memory();
    }
    return learn_own(clock, thread, view);
}

gm_status gm_clock_see(gm_vector_clock *clock, int thread, gm_reach reach, gm_view *view)
{
    bool ok = hands_over(clock) && gm_handover_see(clock->handover, thread, reach, view);
    return ok ? GM_OK : out_of_memory();
}

/* ---- questions ---------------------------------------------------------------------------- */

bool gm_clock_orders_warps(const gm_vector_clock *clock)
{
    return clock->learnt;
}

bool gm_clock_knows_of(const gm_vector_clock *clock, int thread, int64_t block)
{
    const gm_handover *handover = clock->handover;
    return handover && (gm_view_find(handover->of[thread].known, block) ||
                        gm_view_find(handover->all.known, block));
}

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

unsigned gm_clock_unordered_abroad(const gm_vector_clock *clock, int64_t block, gm_moment moment,
                                   unsigned lanes, int thread)
{
    unsigned unordered = lanes;
    for (unsigned rest = clock->handover ? lanes : 0; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if (gm_handover_knows(clock->handover, thread, block, moment.interval, moment.tick,
                              moment.thread + lane)) {
            unordered &= ~(1u << lane);
        }
    }
    return unordered;
}
