/* What threads know of other blocks, thread by thread since the last barrier, and for all before.
 */
#include "sim/handover.h"

#include <stdlib.h>

gm_handover *gm_handover_create(int threads)
{
    gm_handover *handover = calloc(1, sizeof *handover);
    if (handover && !(handover->of = calloc((size_t)threads, sizeof *handover->of))) {
        free(handover);
        return NULL;
    }
    if (handover) {
        handover->threads = threads;
    }
    return handover;
}

static void forget(gm_thread_views *views)
{
    gm_view_drop(views->known);
    for (int reach = 0; reach < GM_REACHES; reach++) {
        gm_view_drop(views->seen[reach]);
        gm_view_drop(views->fenced[reach]);
    }
    *views = (gm_thread_views){.known = NULL};
}

void gm_handover_forget(gm_handover *handover)
{
    for (int thread = 0; handover->used && thread < handover->threads; thread++) {
        forget(&handover->of[thread]);
    }
    forget(&handover->all);
    handover->used = false;
}

void gm_handover_destroy(gm_handover *handover)
{
    if (handover) {
        gm_handover_forget(handover);
        free(handover->of);
        free(handover);
    }
}

/* Adds what `from` knows and its fences keep, but not what it has only seen. */
static bool share(gm_thread_views *to, const gm_thread_views *from, int threads)
{
    return gm_view_join(&to->known, from->known, threads) &&
           gm_view_join(&to->fenced[GM_IN_BLOCK], from->fenced[GM_IN_BLOCK], threads) &&
           gm_view_join(&to->fenced[GM_IN_GRID], from->fenced[GM_IN_GRID], threads);
}

bool gm_handover_barrier(gm_handover *handover)
{
    gm_view **known = &handover->all.known;
    bool ok = true;
    for (int thread = 0; handover->used && ok && thread < handover->threads; thread++) {
        gm_thread_views *views = &handover->of[thread];
        ok = share(&handover->all, views, handover->threads) &&
             gm_view_join(known, views->seen[GM_IN_BLOCK], handover->threads) &&
             gm_view_join(known, views->seen[GM_IN_GRID], handover->threads);
        forget(views);
    }
    handover->used = handover->used && !ok;
    return ok;
}

bool gm_handover_warp(gm_handover *handover, int first, unsigned lanes)
{
    gm_thread_views all = {.known = NULL};
    bool ok = true;
    if (!handover->used) {
        return true;
    }
    for (unsigned rest = lanes; rest && ok; rest &= rest - 1) {
        ok = share(&all, &handover->of[first + __builtin_ctz(rest)], handover->threads);
    }
    for (unsigned rest = lanes; rest && ok; rest &= rest - 1) {
        ok = share(&handover->of[first + __builtin_ctz(rest)], &all, handover->threads);
    }
    forget(&all);
    return ok;
}

bool gm_handover_learn(gm_handover *handover, int thread, gm_view *view)
{
    handover->used = true;
    return gm_view_join(&handover->of[thread].known, view, handover->threads);
}

bool gm_handover_see(gm_handover *handover, int thread, gm_reach reach, gm_view *view)
{
    handover->used = true;
    return gm_view_join(&handover->of[thread].seen[reach], view, handover->threads);
}

bool gm_handover_fence(gm_handover *handover, int thread, gm_reach reach, gm_view *own)
{
    gm_thread_views *views = &handover->of[thread];
    bool ok = true;
    handover->used = true;
    for (int r = 0; r <= (int)reach && ok; r++) {
        ok = gm_view_join(&views->known, views->seen[r], handover->threads);
        gm_view_drop(views->seen[r]);
        views->seen[r] = NULL;
    }
    if (!own) {
        return ok;
    }
    gm_view *all = gm_view_keep(own);
    ok = ok && gm_view_join(&all, views->known, handover->threads) &&
         gm_view_join(&all, handover->all.known, handover->threads);
    for (int r = 0; r <= (int)reach && ok; r++) {
        ok = gm_view_join(&views->fenced[r], all, handover->threads);
    }
    gm_view_drop(all);
    return ok;
}

bool gm_handover_released(const gm_handover *handover, int thread, gm_reach reach, gm_view **view)
{
    *view = gm_view_keep(handover->of[thread].fenced[reach]);
    return gm_view_join(view, handover->all.fenced[reach], handover->threads);
}

static bool knows(const gm_view *view, int64_t block, uint32_t interval, uint32_t tick, int other)
{
    const gm_block_view *found = gm_view_find(view, block);
    if (!found || found->interval != interval) {
        return found && found->interval > interval;
    }
    return found->ticks && found->ticks->of[other] > tick;
}

bool gm_handover_knows(const gm_handover *handover, int thread, int64_t block, uint32_t interval,
                       uint32_t tick, int other)
{
    return knows(handover->of[thread].known, block, interval, tick, other) ||
           knows(handover->all.known, block, interval, tick, other);
}
