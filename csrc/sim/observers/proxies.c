/*
 * Observer: the copy engine comes to shared memory by a way of its own.
 *
 * Barriers order threads, not threads and the engine. A thread's load may still be under way when
 * the engine is asked to write to the same place, and its store when the engine is asked to read:
 *   - before the engine writes, whoever has touched the place ends that by a fence of the engine's
 *     proxy, by arriving at an mbarrier, or at a barrier of the block. A barrier of the warp alone
 *     does not: its threads go on while their loads wait.
 *   - before the engine reads, whoever has written calls the fence.
 * Of several warps that touch a word one after the other, the last is remembered.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/observer.h"

/* The last access of a sort to a word, by lanes of a warp. Moments are counted from 1. */
typedef struct touch {
    uint32_t moment, site, lanes;
    uint16_t warp;
} touch;

typedef struct word {
    touch read, written;
} word;

typedef struct proxies {
    word *words;                 /* of shared memory; NULL before the first access that it sees */
    uint32_t *fenced, *ended;    /* per thread: the moment of its last fence, and of the last of all
                                    that ends its accesses before the engine writes */
    uint32_t fences;             /* of all threads of the block */
    uint32_t moment, begun, met; /* now; of the block's begin; of its last barrier */
} proxies;

static gm_status out_of_memory(void)
{
    return gm_fail(GM_ERROR_MEMORY, "out of memory for the accesses to shared memory beside those "
                                    "of the copy engine");
}

static void free_block(void *block_state)
{
    proxies *p = block_state;
    free(p->words);
    free(p->fenced);
    free(p->ended);
}

static gm_status block_begins(void *state, gm_trace *trace)
{
    proxies *p = gm_block_state(trace, GM_OBSERVER_proxies);
    (void)state;
    (void)trace;
    p->begun = p->met = ++p->moment;
    p->fences = 0;
    return GM_OK;
}

static gm_status barrier(void *state, gm_trace *trace)
{
    proxies *p = gm_block_state(trace, GM_OBSERVER_proxies);
    (void)state;
    p->met = ++p->moment;
    return GM_OK;
}

static gm_status prepare(proxies *p, const gm_trace *trace)
{
    const size_t threads = (size_t)trace->block_threads;
    if (!p->words) {
        p->words = calloc(trace->spaces.shared_span / 4 + 1, sizeof *p->words);
        p->fenced = calloc(threads, sizeof *p->fenced);
        p->ended = calloc(threads, sizeof *p->ended);
    }
    return p->words && p->fenced && p->ended ? GM_OK : out_of_memory();
}

static gm_status sync(void *state, gm_trace *trace, const gm_sync *sync)
{
    proxies *p = gm_block_state(trace, GM_OBSERVER_proxies);
    (void)state;
    p->fences += sync->kind == GM_ENGINE_FENCE;
    if (!p->words) {
        return GM_OK; /* it has seen no access */
    }
    if (sync->kind == GM_ENGINE_FENCE) {
        p->fenced[trace->thread] = p->ended[trace->thread] = ++p->moment;
    } else if (sync->kind == GM_MBARRIER_ARRIVE && !sync->expects) {
        const int first = trace->thread / GM_WARP * GM_WARP;
        ++p->moment;
        for (int i = first; i < first + GM_WARP && i < trace->block_threads; i++) {
            p->ended[i] = p->moment;
        }
    }
    return GM_OK;
}

/* Those of the lanes that have done nothing since to end their access. */
static unsigned under_way(const touch *last, const uint32_t *ended, uint32_t since)
{
    unsigned lanes = 0;
    if (last->moment < since) {
        return 0;
    }
    for (unsigned left = last->lanes; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        lanes |= ended[last->warp * GM_WARP + lane] > last->moment ? 0 : 1u << lane;
    }
    return lanes;
}

static gm_status race(const gm_trace *trace, const touch *last, unsigned lanes, const char *engine,
                      const char *did, const char *why)
{
    const gm_site *site = &trace->sites.list[last->site];
    const gm_dim mine = gm_trace_thread(trace, trace->thread);
    const gm_dim other = gm_trace_thread(trace, last->warp * GM_WARP + __builtin_ctz(lanes));
    gm_status status =
        gm_find(GM_RULE_RACE_COPY,
                "a race: thread (%u, %u, %u) has the copy engine %s what thread (%u, %u, %u) %s "
                "at %s:%d, %s",
                mine.x, mine.y, mine.z, engine, other.x, other.y, other.z, did,
                site->file ? site->file : "?", site->line, why);
    return gm_find_beside(status, site);
}

/* The engine's first access is a read: of what was written before this observer saw anything. */
static gm_status reads_first(const gm_trace *trace)
{
    const gm_dim mine = gm_trace_thread(trace, trace->thread);
    return gm_find(GM_RULE_RACE_COPY,
                   "a race: thread (%u, %u, %u) has the copy engine read what threads have written "
                   "to shared memory, and none of them has called a fence of the engine's proxy "
                   "(fence.proxy.async) since",
                   mine.x, mine.y, mine.z);
}

static gm_status by_engine(const proxies *p, const gm_trace *trace, const word *at)
{
    static const char *const may[] = {"which may still be under way: between the two belongs a "
                                      "fence of the engine's proxy (fence.proxy.async)",
                                      "which the engine may not see: between the two belongs a "
                                      "fence of the engine's proxy (fence.proxy.async)"};
    unsigned lanes;
    if (trace->call->kind == GM_LOAD) {
        lanes = under_way(&at->written, p->fenced, p->begun);
        return lanes ? race(trace, &at->written, lanes, "read", "wrote", may[1]) : GM_OK;
    }
    lanes = under_way(&at->read, p->ended, p->met);
    if (lanes) {
        return race(trace, &at->read, lanes, "write over", "read", may[0]);
    }
    lanes = under_way(&at->written, p->ended, p->met);
    return lanes ? race(trace, &at->written, lanes, "write over", "wrote", may[0]) : GM_OK;
}

static void note(touch *last, const proxies *p, const gm_trace *trace, const gm_access *access)
{
    const uint16_t warp = (uint16_t)(trace->thread / GM_WARP);
    const bool together =
        last->moment == p->moment && last->warp == warp && last->site == access->site;
    *last = (touch){.moment = p->moment,
                    .site = access->site,
                    .lanes = (together ? last->lanes : 0) | 1u << trace->thread % GM_WARP,
                    .warp = warp};
}

static gm_status access(void *state, gm_trace *trace, const gm_access *access)
{
    proxies *p = gm_block_state(trace, GM_OBSERVER_proxies);
    (void)state;
    const bool engine = trace->call->actor == GM_BY_ENGINE;
    if (engine && !p->words && trace->call->kind == GM_LOAD && p->fences == 0) {
        return reads_first(trace);
    }
    gm_status status = prepare(p, trace);
    const uintptr_t from = gm_shared_offset(&trace->spaces, access->address);
    const uintptr_t past = (from + access->bytes + 3) / 4;
    for (uintptr_t i = from / 4; i < past && status == GM_OK; i++) {
        word *at = &p->words[i];
        if (!engine) {
            note(trace->call->kind == GM_LOAD ? &at->read : &at->written, p, trace, access);
            continue;
        }
        status = by_engine(p, trace, at);
        if (trace->call->kind != GM_LOAD) {
            *at = (word){.read = {.moment = 0}}; /* it holds what the engine brought */
        }
    }
    return status;
}

const gm_observer gm_observer_proxies = {
    .name = "proxies",
    .block_bytes = sizeof(proxies),
    .accesses = GM_SEES(GM_SPACE_SHARED),
    .after = GM_SEES(GM_BY_ENGINE),
    .about_order = true,
    .free_block = free_block,
    .block = block_begins,
    .barrier = barrier,
    .sync = sync,
    .access = access,
};
