/* What observers/races.c and races_batch.c share: the state, events, and the way to cells. */
#ifndef GPUMEM_SIM_RACES_H
#define GPUMEM_SIM_RACES_H

#include "sim/cells.h"
#include "sim/observer.h"

typedef struct gm_races {
    gm_event_log log;
    gm_cell_page ***pages; /* per region, per page */
    gm_cell_records records;
    gm_event now;   /* the present moment */
    int64_t batch;  /* the last of which it took requests */
    uint32_t taken; /* first event of that batch */
} gm_races;

typedef struct gm_block_races {
    gm_event_log log;
    gm_cell_page **pages;
    size_t span; /* of shared memory */
    uint32_t interval;
} gm_block_races;

/* An access to a cell. */
typedef struct gm_race_visit {
    gm_races *r;
    gm_trace *trace;
    const gm_event_log *log;
    const gm_event *mine;
    uint32_t event, lane;
    bool kept; /* the cell keeps it; another observer sees to the order of engines' copies */
    bool updated_last; /* the last to write was an atomic update that is ordered before this */
    bool in_two_steps; /* a volatile store of what the thread has just read: not an atomic update */
    /* Accesses of the same sort that the cell keeps: */
    int at_once, of_warps, of_blocks; /* of this moment, of other warps and of other blocks */
} gm_race_visit;

/* The event of an access; 0 when memory ran out. */
static inline uint32_t gm_race_event(gm_event_log *log, const gm_trace *trace, const gm_event *now,
                                     const gm_access *access)
{
    const gm_access_call *call = trace->call;
    uint32_t site = access->site;
    if ((int)site < log->here_room && log->here[site] >= log->now &&
        gm_event_at(log, log->here[site])->scope == call->scope) {
        return log->here[site];
    }
    gm_event made = *now;
    made.site = site;
    made.kind = (uint8_t)call->kind;
    made.strength = (uint8_t)call->strength;
    made.scope = (uint8_t)call->scope;
    return gm_event_add(log, made, trace->sites.room) ? log->here[site] : 0;
}

/* Another warp runs, or something has ordered the accesses of this one. */
static inline void gm_race_moment(gm_races *r, gm_block_races *b, const gm_trace *trace,
                                  gm_moment moment)
{
    if (r->now.block != trace->block_number || r->now.interval != moment.interval) {
        r->log.interval = r->log.first + r->log.count;
    }
    r->now = (gm_event){.block = trace->block_number,
                        .interval = moment.interval,
                        .tick = moment.tick,
                        .warp = (uint16_t)(moment.thread / GM_WARP)};
    r->log.now = r->log.first + r->log.count;
    if (b->interval != moment.interval) {
        b->interval = moment.interval;
        b->log.first += b->log.count;
        b->log.count = 0;
        b->log.interval = b->log.first;
    }
    b->log.now = b->log.first + b->log.count;
}

/* Would every write now race with one of the reads that the cell keeps? */
static inline bool gm_race_read_enough(const gm_race_visit *v, const gm_cell *at)
{
    return (at->by_blocks && v->trace->releases.count == 0) ||
           (at->by_warps && at->read >= v->log->interval &&
            !gm_clock_orders_warps(v->trace->clock));
}

/* The pages of the accessed memory, and where in it the access begins; NULL: out of memory. */
static inline gm_cell_page **gm_race_memory(gm_races *r, gm_block_races *b, const gm_trace *trace,
                                            bool shared, uintptr_t address, uintptr_t *offset)
{
    if (shared) {
        *offset = gm_shared_offset(&trace->spaces, address);
        if (!b->pages) {
            b->span = trace->spaces.shared_span;
            b->pages = gm_pages_create(b->span);
        }
        return b->pages;
    }
    int region = trace->spaces.last_global;
    gm_region memory = trace->spaces.global[region];
    *offset = address - memory.begin;
    if (!r->pages[region]) {
        r->pages[region] = gm_pages_create(memory.end - memory.begin);
    }
    return r->pages[region];
}

static inline gm_cell_page *gm_race_page(gm_races *r, gm_cell_page **at, bool fine)
{
    gm_cell_page *found = *at;
    return found && found->fine >= fine ? found : gm_page_make(&r->records, at, fine);
}

gm_take gm_race_take(void *state, gm_trace *trace, const gm_request *request);
void gm_race_put_back(void *state, gm_trace *trace, const gm_request *request);

#endif
