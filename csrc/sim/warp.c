/*
 * Runs the lanes of a warp, one after another, and the operations of a warp: a group of lanes that
 * name each other in their masks goes on once all of them have come.
 */
#include "sim/warp.h"

#include <string.h>

#include "sim/locate.h"
#include "sim/mbarrier.h"
#include "sim/thread.h"
#include "sim/trace.h"

enum { TURNS = 64 }; /* of a warp's spinning lanes before other warps have theirs */

/* ---- operations of a warp ----------------------------------------------------------------- */

/* The lanes of a warp that wait for a warp operation with this mask. */
static unsigned waiting_with(const gm_strand *lanes, int count, unsigned mask)
{
    unsigned found = 0;
    for (int lane = 0; lane < count; lane++) {
        bool waits = lanes[lane].state == AT_WARP && lanes[lane].mask == mask;
        found |= (unsigned)waits << lane;
    }
    return found;
}

/* A group is complete when all the lanes that its mask names wait with that mask. Returns the lanes
 * of all complete groups. */
static unsigned find_complete(gm_block *block, gm_warp warp, unsigned waiting, unsigned present)
{
    const gm_strand *lanes = &block->strands[warp.first];
    unsigned complete = 0, seen = 0;
    for (unsigned rest = waiting; rest; rest &= ~seen) {
        unsigned mask = lanes[__builtin_ctz(rest)].mask, group = mask & present;
        unsigned found = waiting_with(lanes, warp.past - warp.first, mask);
        seen |= found;
        if ((group & ~found) == 0) {
            complete |= group;
            if (block->trace) {
                gm_trace_warp(block->trace, warp.first, group);
            }
        }
    }
    return complete;
}

/* The waiting lane whose place comes first in the source. Lanes that are further on thus wait where
 * the sides of a branch meet again, or behind a loop, as they do on a device. */
static const gm_strand *least_advanced(const gm_strand *lanes, unsigned waiting)
{
    const gm_strand *last = &lanes[__builtin_ctz(waiting)];
    for (unsigned rest = waiting; rest; rest &= rest - 1) {
        const gm_strand *lane = &lanes[__builtin_ctz(rest)];
        if (lane->line < last->line && strcmp(lane->file, last->file) == 0) {
            last = lane;
        }
    }
    return last;
}

/* Those of the waiting lanes that are at the place of the least advanced one. */
static unsigned at_one_place(gm_block *block, gm_warp warp, unsigned waiting)
{
    gm_strand *lanes = &block->strands[warp.first];
    const gm_strand *first = least_advanced(lanes, waiting);
    unsigned here = 0;
    for (unsigned rest = waiting; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        here |= (unsigned)gm_same_place(&lanes[lane], first) << lane;
    }
    for (unsigned rest = here; rest; rest &= rest - 1) {
        lanes[__builtin_ctz(rest)].mask = here;
    }
    return here;
}

static gm_status fail_waiting(gm_block *block, int thread)
{
    const gm_strand *strand = &block->strands[thread];
    gm_find(GM_RULE_WARP, "a warp operation waits for lanes that never reach it (mask 0x%08x)",
            strand->mask);
    return gm_locate_thread(block, thread, strand->file, strand->line);
}

/* Gives the lanes each other's values, and lets them go on. */
static gm_status release(gm_block *block, gm_warp warp, unsigned lanes)
{
    gm_status status = GM_OK;
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        const int thread = warp.first + __builtin_ctz(rest);
        block->handed[thread].exchanged = block->handed[thread].deposit;
        if (block->trace) {
            block->handed_unset[thread].exchanged = block->handed_unset[thread].deposit;
        }
    }
    block->at_warp -= __builtin_popcount(lanes);
    block->moves++;
    for (unsigned rest = lanes; rest && status == GM_OK; rest &= rest - 1) {
        status = gm_thread_resume(block, warp.first + __builtin_ctz(rest));
    }
    return status;
}

/* Lanes wait for each other: lets every complete group go on, until none is. */
static gm_status settle(gm_block *block, gm_warp warp)
{
    gm_status status = GM_OK;
    while (block->at_warp > 0 && status == GM_OK) {
        if (block->trace) {
            status = gm_locate_traced(block, gm_postponed_tell(block->trace));
        }
        if (status != GM_OK) {
            return status;
        }
        unsigned waiting = 0, at_place = 0;
        bool more_may_come = false;
        for (int t = warp.first; t < warp.past; t++) {
            waiting |= (unsigned)(block->strands[t].state == AT_WARP) << (t - warp.first);
            at_place |= (unsigned)(block->strands[t].state == AT_PLACE) << (t - warp.first);
            more_may_come = more_may_come || block->strands[t].state == AT_MBARRIER ||
                            block->strands[t].state == GAVE_WAY;
        }
        int size = warp.past - warp.first;
        unsigned present = size == GM_WARP ? ~0u : (1u << size) - 1;
        unsigned released = find_complete(block, warp, waiting, present);
        if (block->trace && released == present) {
            /* All lanes have met, so no request has lanes before and after this. */
            status = gm_thread_flush(block, warp.first / GM_WARP);
        }
        if (!released && at_place) {
            released = at_one_place(block, warp, at_place);
        }
        if (!released) {
            return !waiting || more_may_come
                       ? GM_OK
                       : fail_waiting(block, warp.first + __builtin_ctz(waiting));
        }
        if (status == GM_OK) {
            status = release(block, warp, released);
        }
    }
    return status;
}

/* Lets those lanes go on whose phase of an mbarrier is complete. */
static gm_status pass_mbarriers(gm_block *block, gm_warp warp)
{
    gm_status status = GM_OK;
    for (int t = warp.first; block->at_mbarrier > 0 && t < warp.past && status == GM_OK; t++) {
        const gm_strand *strand = &block->strands[t];
        if (strand->state == AT_MBARRIER &&
            gm_sim_mbarrier_passed(strand->mbarrier, strand->parity)) {
            block->at_mbarrier--;
            block->moves++;
            status = gm_thread_resume(block, t);
        }
    }
    return status;
}

static gm_status take_turns(gm_block *block, gm_warp warp)
{
    gm_status status = GM_OK;
    for (int t = warp.first; block->gave_way > 0 && t < warp.past && status == GM_OK; t++) {
        if (block->strands[t].state == GAVE_WAY) {
            gm_thread_begin_turn(block, t);
            status = gm_thread_resume(block, t);
            block->moves += block->strands[t].state != GAVE_WAY;
        }
    }
    return status;
}

/* As long as lanes go on, the warp does: its requests are of lanes that do the same. */
gm_status gm_warp_run_waiting(gm_block *block, gm_warp warp)
{
    gm_status status = GM_OK;
    int turns = 0;
    int64_t moves, actives;
    do {
        moves = block->moves;
        actives = block->actives;
        status = block->at_warp > 0 ? settle(block, warp) : GM_OK;
        if (status == GM_OK) {
            status = pass_mbarriers(block, warp);
        }
        if (status == GM_OK && block->gave_way > 0 && turns++ < TURNS) {
            status = take_turns(block, warp);
        }
    } while (status == GM_OK && (block->moves != moves ||
                                 (block->trace && block->actives != actives && turns < TURNS)));
    return status;
}

/* ---- lanes -------------------------------------------------------------------------------- */

static gm_status check_if_slow(gm_block *block)
{
    return block->interrupt.slow ? gm_interrupt_check(&block->interrupt) : GM_OK;
}

static gm_status run_lanes(gm_block *block, gm_warp warp, bool fresh)
{
    gm_status status = GM_OK;
    block->next_fresh = warp.first;
    block->end_fresh = fresh ? warp.past : warp.first;
    while (status == GM_OK && block->next_fresh < block->end_fresh) {
        status = gm_thread_start(block);
        status = status == GM_OK ? check_if_slow(block) : status;
    }
    for (int t = warp.first; !fresh && status == GM_OK && t < warp.past; t++) {
        status = gm_thread_resume(block, t);
        status = status == GM_OK ? check_if_slow(block) : status;
    }
    return status;
}

gm_status gm_warp_run(gm_block *block, gm_warp warp, bool fresh)
{
    gm_status status = gm_interrupt_check(&block->interrupt);
    if (status == GM_OK) {
        status = run_lanes(block, warp, fresh);
    }
    if (status == GM_OK && block->at_warp + block->at_mbarrier + block->gave_way > 0) {
        status = gm_warp_run_waiting(block, warp);
    }
    if (status == GM_OK && block->trace) {
        status = gm_thread_flush(block, warp.first / GM_WARP);
    }
    return status;
}
