/*
 * Which accesses of a block are ordered before which threads.
 *
 * Order comes from barriers of the block, from barriers and exchanges of a warp, and from
 * waiting on an mbarrier that others have arrived at. A barrier of the block orders all, so
 * clocks only matter within the interval between two of them.
 */
#ifndef GPUMEM_ORDER_H
#define GPUMEM_ORDER_H

#include "gpumem.h"

typedef struct gm_order gm_order;

/* When a thread did something. Ticks count the ordering events of a warp. */
typedef struct gm_moment {
    uint32_t interval, tick;
    int32_t thread;
} gm_moment;

gm_order *gm_order_create(int threads);
void gm_order_destroy(gm_order *order);

/* The block has met at a barrier, or a new block begins. */
void gm_order_barrier(gm_order *order);
void gm_order_block(gm_order *order);
/* The lanes of one warp have met; the warp's first thread has number first. */
void gm_order_warp(gm_order *order, int first, unsigned lanes);

/* What the thread has done and knows is handed to whoever waits for this phase. */
gm_status gm_order_arrive(gm_order *order, int thread, const void *mbarrier);
void gm_order_phase(gm_order *order, const void *mbarrier);
gm_status gm_order_wait(gm_order *order, int thread, const void *mbarrier);
/* A new mbarrier stands at this address. */
void gm_order_forget(gm_order *order, const void *mbarrier);

uint32_t gm_order_interval(const gm_order *order);
gm_moment gm_order_now(const gm_order *order, int thread);
bool gm_order_before(const gm_order *order, gm_moment moment, int thread);
/* Of the lanes of a warp that did something at a tick of this interval, those whose doing is not
 * ordered before the thread. */
unsigned gm_order_unordered(const gm_order *order, int warp, uint32_t tick, unsigned lanes,
                            int thread);

#endif
