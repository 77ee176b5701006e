/*
 * Which accesses are ordered before which threads of a block, by vector clocks.
 *
 * Barriers of the block, barriers and exchanges of a warp, and waits on an mbarrier at which other
 * threads have arrived order accesses. A barrier of the block orders all of them, so that clocks
 * only matter within the interval between two such barriers. Fences and atomic operations order
 * accesses too, those of other blocks included: see handover.h.
 */
#ifndef GPUMEM_SIM_VECTOR_CLOCK_H
#define GPUMEM_SIM_VECTOR_CLOCK_H

#include "gpumem.h"
#include "sim/handover.h"

typedef struct gm_vector_clock gm_vector_clock;

/* When a thread did something. Ticks count the ordering events of a warp. */
typedef struct gm_moment {
    uint32_t interval, tick;
    int32_t thread;
} gm_moment;

gm_vector_clock *gm_clock_create(int threads);
void gm_clock_destroy(gm_vector_clock *clock);

/* All threads of the block have met at a barrier, or a new block begins. */
gm_status gm_clock_barrier(gm_vector_clock *clock);
void gm_clock_block(gm_vector_clock *clock, int64_t number);
/* These lanes of a warp have met; `first` is the number of the warp's first thread. */
gm_status gm_clock_warp(gm_vector_clock *clock, int first, unsigned lanes);

/* A thread arrives at an mbarrier: whoever waits for this phase learns all that the thread has
 * done and knows. */
gm_status gm_clock_arrive(gm_vector_clock *clock, int thread, const void *mbarrier);
void gm_clock_phase(gm_vector_clock *clock, const void *mbarrier);
gm_status gm_clock_wait(gm_vector_clock *clock, int thread, const void *mbarrier);
/* The mbarrier at this address is initialised anew. */
void gm_clock_forget(gm_vector_clock *clock, const void *mbarrier);

/* A fence, which learns what the thread has seen, and keeps what it has done if it releases. */
gm_status gm_clock_fence(gm_vector_clock *clock, int thread, gm_reach reach, bool releases);
/* What an atomic store or update hands on, for the caller to drop; NULL: nothing. */
gm_status gm_clock_released(const gm_vector_clock *clock, int thread, gm_reach reach,
                            gm_view **view);
/* The thread reads what was handed on by an atomic operation, or by a volatile load. */
gm_status gm_clock_learn(gm_vector_clock *clock, int thread, gm_view *view);
gm_status gm_clock_see(gm_vector_clock *clock, int thread, gm_reach reach, gm_view *view);

/* Has anything but barriers of the block ordered warps so far? */
bool gm_clock_orders_warps(const gm_vector_clock *clock);
/* Has the thread learnt anything of this other block? */
bool gm_clock_knows_of(const gm_vector_clock *clock, int thread, int64_t block);
uint32_t gm_clock_interval(const gm_vector_clock *clock);
gm_moment gm_clock_now(const gm_vector_clock *clock, int thread);
/* Is what happened at the moment ordered before whatever the thread does next? */
bool gm_clock_before(const gm_vector_clock *clock, gm_moment moment, int thread);
/* These lanes of a warp acted at a tick of the present interval. Returns those whose action is not
 * ordered before the thread. */
unsigned gm_clock_unordered(const gm_vector_clock *clock, int warp, uint32_t tick, unsigned lanes,
                            int thread);
/* The same for lanes of another block. */
unsigned gm_clock_unordered_abroad(const gm_vector_clock *clock, int64_t block, gm_moment moment,
                                   unsigned lanes, int thread);

#endif
