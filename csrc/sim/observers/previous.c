/*
 * Observer: a kernel that may start before the one before it has ended, and so touches global
 * memory only after it has waited for it.
 *
 * A thread has waited if it called gm_wait_for_previous() itself, or if it met one that had: at a
 * barrier of the block, or by waiting for an mbarrier. Prefetches may come earlier.
 */
#include <string.h>

#include "sim/observer.h"

enum { WORD = 32, MOST_THREADS = 1024 };

/* Of a block. */
typedef struct previous {
    uint32_t waited[MOST_THREADS / WORD]; /* a bit per thread */
    bool any, all;
} previous;

static gm_status block_begins(void *state, gm_trace *trace)
{
    previous *p = gm_block_state(trace, GM_OBSERVER_previous);
    (void)state;
    memset(p, 0, sizeof *p);
    return GM_OK;
}

static gm_status barrier(void *state, gm_trace *trace)
{
    previous *p = gm_block_state(trace, GM_OBSERVER_previous);
    (void)state;
    p->all = p->any;
    return GM_OK;
}

static gm_status sync(void *state, gm_trace *trace, const gm_sync *sync)
{
    previous *p = gm_block_state(trace, GM_OBSERVER_previous);
    (void)state;
    if (sync->kind == GM_PREVIOUS_WAIT || (sync->kind == GM_MBARRIER_WAIT && p->any)) {
        p->waited[trace->thread / WORD] |= 1u << trace->thread % WORD;
        p->any = true;
    }
    return GM_OK;
}

static bool has_waited(const previous *p, int thread)
{
    return p->all || p->waited[thread / WORD] >> thread % WORD & 1;
}

static gm_status check(void *state, gm_trace *trace, const gm_access *access)
{
    const previous *p = gm_block_state(trace, GM_OBSERVER_previous);
    (void)state;
    if (has_waited(p, trace->thread)) {
        return GM_OK;
    }
    return gm_find(GM_RULE_MISUSE,
                   "%s of global memory in a launch that may be early, before the thread has "
                   "waited: the kernel before this one may still run; gm_wait_for_previous() "
                   "belongs before it",
                   gm_kind_name(trace->sites.list[access->site].kind));
}

static gm_take take(void *state, gm_trace *trace, const gm_request *request)
{
    const previous *p = gm_block_state(trace, GM_OBSERVER_previous);
    (void)state;
    for (int i = 0; i < request->lanes && !p->all; i++) {
        if (!has_waited(p, trace->warp * GM_WARP + request->lane[i])) {
            return GM_REFUSES;
        }
    }
    return GM_TAKES;
}

const gm_observer gm_observer_previous = {
    .name = "previous",
    .block_bytes = sizeof(previous),
    .accesses = GM_SEES(GM_SPACE_GLOBAL),
    .early = true,
    .block = block_begins,
    .barrier = barrier,
    .sync = sync,
    .access = check,
    .take = take,
};
