/*
 * What the threads of a block know of other blocks, and what their fences let them hand on.
 *
 * A fence keeps what its thread has done and knows. Each atomic store or update after it hands that
 * on to whoever reads there. An atomic operation learns at once what it reads. A volatile load only
 * sees it, and the next fence or barrier of the block makes it known. A barrier of the block or of
 * a warp shares what its threads know and what their fences keep.
 */
#ifndef GPUMEM_SIM_HANDOVER_H
#define GPUMEM_SIM_HANDOVER_H

#include "sim/view.h"

/* How far a fence, an atomic operation or what they hand on reaches. */
typedef enum gm_reach {
    GM_IN_BLOCK,
    GM_IN_GRID,
    GM_REACHES,
} gm_reach;

typedef struct gm_thread_views {
    gm_view *known;
    gm_view *seen[GM_REACHES], *fenced[GM_REACHES];
} gm_thread_views;

typedef struct gm_handover {
    int threads;
    bool used; /* by a thread since the last barrier */
    gm_thread_views all, *of;
} gm_handover;

gm_handover *gm_handover_create(int threads);
void gm_handover_destroy(gm_handover *handover);

/* Functions that return bool return false when memory ran out. */

/* A new block begins. */
void gm_handover_forget(gm_handover *handover);
bool gm_handover_barrier(gm_handover *handover);
bool gm_handover_warp(gm_handover *handover, int first, unsigned lanes);

bool gm_handover_learn(gm_handover *handover, int thread, gm_view *view);
bool gm_handover_see(gm_handover *handover, int thread, gm_reach reach, gm_view *view);
/* The thread has done what `own` says of its own block; NULL: it keeps nothing to hand on. */
bool gm_handover_fence(gm_handover *handover, int thread, gm_reach reach, gm_view *own);
/* What an atomic store or update of the thread hands on, for the caller to drop. */
bool gm_handover_released(const gm_handover *handover, int thread, gm_reach reach, gm_view **view);

/* Is what a thread of another block did at this moment known to the thread? */
bool gm_handover_knows(const gm_handover *handover, int thread, int64_t block, uint32_t interval,
                       uint32_t tick, int other);

#endif
