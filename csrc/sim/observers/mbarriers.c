/* Observer: one thread initialises an mbarrier, and threads and engines use it only afterwards. */
#include <stdlib.h>

#include "sim/observer.h"

typedef struct mbarrier {
    const void *address;
    gm_moment made;
} mbarrier;

typedef struct mbarriers {
    mbarrier *list;
    int count, room;
} mbarriers;

static void free_block(void *block_state)
{
    mbarriers *b = block_state;
    free(b->list);
}

static gm_status block_begins(void *state, gm_trace *trace)
{
    mbarriers *b = gm_block_state(trace, GM_OBSERVER_mbarriers);
    (void)state;
    b->count = 0;
    return GM_OK;
}

static mbarrier *find(mbarriers *b, const void *address)
{
    for (int i = 0; i < b->count; i++) {
        if (b->list[i].address == address) {
            return &b->list[i];
        }
    }
    return NULL;
}

/* Is the running thread behind the one that made the mbarrier? */
static gm_status check_order(const gm_trace *trace, const mbarrier *m, const char *does)
{
    if (gm_clock_before(trace->clock, m->made, trace->thread)) {
        return GM_OK;
    }
    gm_dim other = gm_trace_thread(trace, m->made.thread);
    return gm_find(GM_RULE_MBARRIER,
                   "a race: %s an mbarrier that thread (%u, %u, %u) initialised, with no barrier "
                   "between",
                   does, other.x, other.y, other.z);
}

static gm_status initialise(mbarriers *b, const gm_trace *trace, const void *address)
{
    mbarrier *m = find(b, address);
    gm_status status = m ? check_order(trace, m, "initialises") : GM_OK;
    if (status != GM_OK) {
        return status;
    }
    if (!m && b->count == b->room) {
        int room = b->room ? 2 * b->room : 8;
        mbarrier *list = realloc(b->list, (size_t)room * sizeof *list);
        if (!list) {
            return gm_fail(GM_ERROR_MEMORY, "out of memory for the mbarriers of a block");
        }
        b->list = list;
        b->room = room;
    }
    m = m ? m : &b->list[b->count++];
    *m = (mbarrier){.address = address, .made = gm_clock_now(trace->clock, trace->thread)};
    return GM_OK;
}

/* May the running thread use the mbarrier? */
static gm_status check(mbarriers *b, const gm_trace *trace, const void *address)
{
    const mbarrier *m = find(b, address);
    if (!m) {
        return gm_find(GM_RULE_MBARRIER,
                       "uses an mbarrier that nothing in the block has initialised");
    }
    return check_order(trace, m, "uses");
}

static gm_status sync(void *state, gm_trace *trace, const gm_sync *sync)
{
    mbarriers *b = gm_block_state(trace, GM_OBSERVER_mbarriers);
    (void)state;
    switch (sync->kind) {
    case GM_MBARRIER_INIT: return initialise(b, trace, sync->mbarrier);
    case GM_MBARRIER_ARRIVE:
    case GM_MBARRIER_WAIT: return check(b, trace, sync->mbarrier);
    default: return GM_OK;
    }
}

/* An engine's store reports to its mbarrier. */
static gm_status access(void *state, gm_trace *trace, const gm_access *access)
{
    mbarriers *b = gm_block_state(trace, GM_OBSERVER_mbarriers);
    (void)state;
    (void)access;
    return trace->call->kind == GM_STORE ? check(b, trace, trace->call->mbarrier) : GM_OK;
}

const gm_observer gm_observer_mbarriers = {
    .name = "mbarriers",
    .block_bytes = sizeof(mbarriers),
    .accesses = GM_SEES(GM_SPACE_SHARED),
    .actors = GM_SEES(GM_BY_ENGINE),
    .about_order = true,
    .free_block = free_block,
    .block = block_begins,
    .sync = sync,
    .access = access,
};
