/*
 * Order within a block, by vector clocks.
 *
 * A warp's clock ticks at each of its ordering events. A thread keeps, for each lane of its own
 * warp, up to which tick that lane's doings are ordered before it; the same for all threads of
 * the block only once an mbarrier has told it of other warps. Ticks never go back, so nothing
 * has to be cleared at a barrier.
 */
#include "sim/order.h"

#include <stdlib.h>
#include <string.h>

typedef struct mbarrier_clock {
    const void *address;
    uint32_t *arrived; /* per thread, of the phase that is under way; all phases before too */
    uint32_t *complete;
} mbarrier_clock;

struct gm_order {
    int threads; /* rounded up to whole warps */
    uint32_t interval;
    uint32_t *ticks;            /* per warp */
    uint32_t (*known)[GM_WARP]; /* per thread, for the lanes of its warp */
    uint32_t *learnt;           /* threads x threads; NULL until a thread waits on an mbarrier */
    uint32_t *learnt_in;        /* per warp: the interval in which a lane last learnt something */
    mbarrier_clock *mbarriers;
    int mbarrier_count, mbarrier_room;
};

gm_order *gm_order_create(int threads)
{
    gm_order *order = calloc(1, sizeof *order);
    if (!order) {
        return NULL;
    }
    order->threads = (threads + GM_WARP - 1) / GM_WARP * GM_WARP;
    order->ticks = calloc((size_t)order->threads / GM_WARP, sizeof *order->ticks);
    order->learnt_in = calloc((size_t)order->threads / GM_WARP, sizeof *order->learnt_in);
    order->known = calloc((size_t)order->threads, sizeof *order->known);
    if (!order->ticks || !order->learnt_in || !order->known) {
        gm_order_destroy(order);
        return NULL;
    }
    return order;
}

void gm_order_destroy(gm_order *order)
{
    if (!order) {
        return;
    }
    for (int i = 0; i < order->mbarrier_room; i++) {
        free(order->mbarriers[i].arrived);
        free(order->mbarriers[i].complete);
    }
    free(order->mbarriers);
    free(order->ticks);
    free(order->known);
    free(order->learnt);
    free(order->learnt_in);
    free(order);
}

void gm_order_barrier(gm_order *order)
{
    order->interval++;
}

void gm_order_block(gm_order *order)
{
    order->interval++;
    order->mbarrier_count = 0;
}

static void join(uint32_t *to, const uint32_t *from, int count)
{
    for (int i = 0; i < count; i++) {
        to[i] = to[i] < from[i] ? from[i] : to[i];
    }
}

/* What lanes have learnt of other warps, they now all know. */
static void join_learnt(gm_order *order, int first, unsigned lanes)
{
    uint32_t *all = &order->learnt[(size_t)(first + __builtin_ctz(lanes)) * order->threads];
    for (unsigned rest = lanes & (lanes - 1); rest; rest &= rest - 1) {
        join(all, &order->learnt[(size_t)(first + __builtin_ctz(rest)) * order->threads],
             order->threads);
    }
    for (unsigned rest = lanes & (lanes - 1); rest; rest &= rest - 1) {
        memcpy(&order->learnt[(size_t)(first + __builtin_ctz(rest)) * order->threads], all,
               (size_t)order->threads * sizeof *all);
    }
}

void gm_order_warp(gm_order *order, int first, unsigned lanes)
{
    int warp = first / GM_WARP;
    uint32_t after = ++order->ticks[warp];
    uint32_t all[GM_WARP] = {0};
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        join(all, order->known[first + __builtin_ctz(rest)], GM_WARP);
    }
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        all[__builtin_ctz(rest)] = after;
    }
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        memcpy(order->known[first + __builtin_ctz(rest)], all, sizeof all);
    }
    if (order->learnt && order->learnt_in[warp] == order->interval) {
        join_learnt(order, first, lanes);
    }
}

/* ---- mbarriers ---------------------------------------------------------------------------- */

static mbarrier_clock *find(gm_order *order, const void *mbarrier)
{
    for (int i = 0; i < order->mbarrier_count; i++) {
        if (order->mbarriers[i].address == mbarrier) {
            return &order->mbarriers[i];
        }
    }
    return NULL;
}

static mbarrier_clock *find_or_make(gm_order *order, const void *mbarrier)
{
    mbarrier_clock *clock = find(order, mbarrier);
    size_t bytes = (size_t)order->threads * sizeof *clock->arrived;
    if (clock) {
        return clock;
    }
    if (order->mbarrier_count == order->mbarrier_room) {
        int room = order->mbarrier_room ? 2 * order->mbarrier_room : 4;
        clock = realloc(order->mbarriers, (size_t)room * sizeof *clock);
        if (!clock) {
            return NULL;
        }
        memset(&clock[order->mbarrier_room], 0,
               (size_t)(room - order->mbarrier_room) * sizeof *clock);
        order->mbarriers = clock;
        order->mbarrier_room = room;
    }
    clock = &order->mbarriers[order->mbarrier_count];
    if (!clock->arrived) {
        clock->arrived = malloc(bytes);
    }
    if (!clock->complete) {
        clock->complete = malloc(bytes);
    }
    if (!clock->arrived || !clock->complete) {
        return NULL;
    }
    memset(clock->arrived, 0, bytes);
    memset(clock->complete, 0, bytes);
    clock->address = mbarrier;
    order->mbarrier_count++;
    return clock;
}

static gm_status out_of_memory(void)
{
    return gm_fail(GM_ERROR_MEMORY, "out of memory for the order of a block's threads");
}

gm_status gm_order_arrive(gm_order *order, int thread, const void *mbarrier)
{
    mbarrier_clock *clock = find_or_make(order, mbarrier);
    int warp = thread / GM_WARP, first = warp * GM_WARP;
    if (!clock) {
        return out_of_memory();
    }
    join(&clock->arrived[first], order->known[thread], GM_WARP);
    if (order->learnt) {
        join(clock->arrived, &order->learnt[(size_t)thread * order->threads], order->threads);
    }
    /* Its doings up to now, not those that follow: the clock ticks. */
    clock->arrived[thread] = ++order->ticks[warp];
    return GM_OK;
}

void gm_order_phase(gm_order *order, const void *mbarrier)
{
    mbarrier_clock *clock = find(order, mbarrier);
    if (clock) {
        memcpy(clock->complete, clock->arrived, (size_t)order->threads * sizeof *clock->complete);
    }
}

gm_status gm_order_wait(gm_order *order, int thread, const void *mbarrier)
{
    const mbarrier_clock *clock = find(order, mbarrier);
    if (!clock) {
        return GM_OK;
    }
    if (!order->learnt) {
        order->learnt =
            calloc((size_t)order->threads * (size_t)order->threads, sizeof *order->learnt);
        if (!order->learnt) {
            return out_of_memory();
        }
    }
    join(&order->learnt[(size_t)thread * order->threads], clock->complete, order->threads);
    order->learnt_in[thread / GM_WARP] = order->interval;
    return GM_OK;
}

void gm_order_forget(gm_order *order, const void *mbarrier)
{
    mbarrier_clock *clock = find(order, mbarrier);
    if (clock) {
        memset(clock->arrived, 0, (size_t)order->threads * sizeof *clock->arrived);
        memset(clock->complete, 0, (size_t)order->threads * sizeof *clock->complete);
    }
}

/* ---- questions ---------------------------------------------------------------------------- */

uint32_t gm_order_interval(const gm_order *order)
{
    return order->interval;
}

gm_moment gm_order_now(const gm_order *order, int thread)
{
    return (gm_moment){order->interval, order->ticks[thread / GM_WARP], thread};
}

unsigned gm_order_unordered(const gm_order *order, int warp, uint32_t tick, unsigned lanes,
                            int thread)
{
    unsigned unordered = lanes;
    if (warp == thread / GM_WARP) {
        unordered &= ~(1u << thread % GM_WARP);
        for (unsigned rest = unordered; rest; rest &= rest - 1) {
            unsigned lane = (unsigned)__builtin_ctz(rest);
            if (order->known[thread][lane] > tick) {
                unordered &= ~(1u << lane);
            }
        }
    }
    if (unordered && order->learnt) {
        const uint32_t *learnt =
            &order->learnt[(size_t)thread * order->threads + (size_t)warp * GM_WARP];
        for (unsigned rest = unordered; rest; rest &= rest - 1) {
            unsigned lane = (unsigned)__builtin_ctz(rest);
            if (learnt[lane] > tick) {
                unordered &= ~(1u << lane);
            }
        }
    }
    return unordered;
}

bool gm_order_before(const gm_order *order, gm_moment moment, int thread)
{
    return moment.interval != order->interval ||
           !gm_order_unordered(order, moment.thread / GM_WARP, moment.tick,
                               1u << moment.thread % GM_WARP, thread);
}
