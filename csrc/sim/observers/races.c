/*
 * Observer: two threads access one byte of shared or global memory, one of them writes, and nothing
 * orders the two.
 *
 * Each word of memory keeps the accesses that a later one may race with, see cells.h. An access is
 * dropped when it is ordered before another that races with all that it would race with.
 */
#include <stdlib.h>

#include "sim/cells.h"
#include "sim/observer.h"
#include "sim/observers/races.h"

enum {
    /* Accesses of a sort by other warps and by other blocks that a cell keeps. Two are enough where
     * nothing but barriers of the block orders warps, and nothing orders blocks. */
    MOST_UNKNOWN = 2,
    MOST_WARPS = 64,
    MOST_BLOCKS = 8,
    LINES_TOLD_APART = 3, /* reads of one warp at one moment that a cell keeps by line */
};

static gm_status out_of_memory(void)
{
    return gm_fail(GM_ERROR_MEMORY, "out of memory for the accesses to memory; trace a smaller "
                                    "shape");
}

/* ---- order -------------------------------------------------------------------------------- */

static bool strong_together(const gm_event *a, const gm_event *b, gm_space space)
{
    if (!a->strength || !b->strength) {
        return false;
    }
    if (a->block != b->block) {
        return a->scope != GM_SCOPE_BLOCK && b->scope != GM_SCOPE_BLOCK;
    }
    /* Code that has the lanes of a warp pass values through volatile variables counts on their
     * running in lockstep. */
    bool lockstep = space == GM_SPACE_SHARED && a->warp == b->warp &&
                    (a->strength == GM_VOLATILE || b->strength == GM_VOLATILE);
    return !lockstep;
}

/* Those of the lanes whose access is not ordered before what the thread does now. */
static unsigned unordered_lanes(const gm_trace *trace, const gm_event *before, unsigned lanes)
{
    const gm_vector_clock *clock = trace->clock;
    if (before->block != trace->block_number) {
        gm_moment moment = {before->interval, before->tick, before->warp * GM_WARP};
        return gm_clock_unordered_abroad(clock, before->block, moment, lanes, trace->thread);
    }
    if (before->interval != gm_clock_interval(clock)) {
        return 0;
    }
    return gm_clock_unordered(clock, before->warp, before->tick, lanes, trace->thread);
}

static const char *present(const gm_trace *trace)
{
    if (trace->call->actor == GM_BY_ENGINE) {
        return trace->call->kind == GM_STORE ? "has the copy engine write over"
                                             : "has the copy engine read";
    }
    static const char *const does[] = {"reads", "writes over", "reads", "atomically updates"};
    return does[trace->call->kind];
}

static gm_status race(const gm_race_visit *v, const gm_event *before, unsigned unordered)
{
    static const char *const past[] = {"read", "wrote", "read", "atomically updated"};
    gm_trace *trace = v->trace;
    const gm_site *site = &trace->sites.list[before->site];
    const char *file = site->file ? site->file : "?", *did = past[before->kind];
    int lane = __builtin_ctz(unordered);
    gm_dim t = gm_trace_thread(trace, trace->thread), b = trace->block_index;
    gm_dim u = gm_trace_thread(trace, before->warp * GM_WARP + lane);
    if (before->block == trace->block_number) {
        bool shared = trace->sites.list[v->mine->site].space == GM_SPACE_SHARED;
        return gm_find_beside(
            gm_find(shared ? GM_RULE_RACE_SHARED : GM_RULE_RACE_GLOBAL,
                    "a race: thread (%u, %u, %u) %s what thread (%u, %u, %u) %s at "
                    "%s:%d, with no barrier between",
                    t.x, t.y, t.z, present(trace), u.x, u.y, u.z, did, file, site->line),
            site);
    }
    static const char *const does[] = {"reads", "writes", "reads", "atomically updates"};
    gm_dim c = gm_trace_block_index(trace, before->block);
    return gm_find_beside(
        gm_find(GM_RULE_RACE_BLOCKS,
                "a race: block (%u, %u, %u) %s global memory that thread (%u, %u, %u) of "
                "block (%u, %u, %u) %s at %s:%d, and nothing orders the two blocks",
                b.x, b.y, b.z, does[trace->call->kind], u.x, u.y, u.z, c.x, c.y, c.z, did, file,
                site->line),
        site);
}

/* Has the thread learnt from the one that made this store since, if not of the store itself? The
 * fence that handed on came before it. */
static bool has_heard_of(const gm_trace *trace, const gm_event *before, unsigned lanes)
{
    if (before->block != trace->block_number) {
        return gm_clock_knows_of(trace->clock, trace->thread, before->block);
    }
    return !gm_clock_unordered(trace->clock, before->warp, before->tick - 1, lanes, trace->thread);
}

typedef enum verdict { KEEP, DROP, MERGE, RACE } verdict;

static bool may_share_a_record(const gm_race_visit *v, const gm_event *before)
{
    const gm_event *mine = v->mine;
    return v->at_once >= LINES_TOLD_APART && mine->kind == GM_LOAD && before->kind == GM_LOAD &&
           !mine->strength && !before->strength && before->block == mine->block &&
           before->interval == mine->interval && before->tick == mine->tick &&
           before->warp == mine->warp;
}

/* What becomes of an earlier access to the cell. */
static verdict judge(gm_race_visit *v, uint32_t number, unsigned lanes, gm_status *status)
{
    const gm_event *before = gm_event_at(v->log, number), *mine = v->mine;
    unsigned unordered = unordered_lanes(v->trace, before, lanes);
    bool one_writes = before->kind != GM_LOAD || mine->kind != GM_LOAD;
    gm_space space = v->trace->sites.list[mine->site].space;
    bool lost =
        v->in_two_steps && before->kind != GM_LOAD && !has_heard_of(v->trace, before, lanes);
    bool excused = !lost && strong_together(before, mine, space);
    /* The last block may reset its counter: its update came after those of all others. */
    excused = excused || (v->updated_last && before->strength);
    if (unordered && one_writes && !excused) {
        *status = race(v, before, unordered);
        return RACE;
    }
    if (v->kept && (number == v->event || may_share_a_record(v, before))) {
        return MERGE;
    }
    bool like_a_write = mine->kind != GM_LOAD || before->kind == GM_LOAD;
    bool no_stronger = !mine->strength || (before->strength && mine->scope <= before->scope);
    if (v->kept && !unordered && like_a_write && no_stronger) {
        return DROP;
    }
    if ((before->kind == GM_LOAD) == (mine->kind == GM_LOAD) &&
        !before->strength == !mine->strength) {
        bool other_block = before->block != mine->block, other_warp = before->warp != mine->warp;
        v->of_blocks += other_block;
        v->of_warps += !other_block && other_warp;
        v->at_once += !other_block && !other_warp && before->tick == mine->tick;
    }
    return KEEP;
}

/* ---- cells -------------------------------------------------------------------------------- */

/* Does the cell keep as many accesses as it should of the sort of this one? */
static bool has_enough(const gm_race_visit *v, const gm_event *before)
{
    if (before->block != v->mine->block) {
        return v->of_blocks > (v->trace->releases.count > 0 ? MOST_BLOCKS : MOST_UNKNOWN);
    }
    return before->warp != v->mine->warp &&
           v->of_warps > (gm_clock_orders_warps(v->trace->clock) ? MOST_WARPS : MOST_UNKNOWN);
}

/* Moves an access out of the cell itself, unless the cell keeps enough of its sort. */
static bool displace(const gm_race_visit *v, gm_cell *at, uint32_t number, uint32_t lanes)
{
    return has_enough(v, gm_event_at(v->log, number)) ||
           gm_cell_add(&v->r->records, at, number, lanes);
}

/* What becomes of an access that was moved out of the cell. Each warp whose lanes update one number
 * adds one: without a limit, the time of a million updates would grow with their square. */
static verdict judge_record(gm_race_visit *v, const gm_cell_record *one, gm_status *status)
{
    const int counted = v->of_blocks + v->of_warps;
    const verdict is = judge(v, one->event, one->lanes, status);
    const bool of_sort = v->of_blocks + v->of_warps > counted;
    return of_sort && v->kept && has_enough(v, gm_event_at(v->log, one->event)) ? DROP : is;
}

static bool keep_access(const gm_race_visit *v, gm_cell *at)
{
    if (v->mine->kind == GM_LOAD) {
        if (at->read && !displace(v, at, at->read, at->read_lanes)) {
            return false;
        }
        at->read = v->event;
        at->read_lanes = 1u << v->lane;
        at->by_blocks = !v->mine->strength && v->of_blocks > 0;
        at->by_warps = !v->mine->strength && v->of_warps > 0;
        return true;
    }
    if (at->write && !displace(v, at, at->write, 1u << at->write_lane)) {
        return false;
    }
    at->write = v->event;
    at->write_lane = v->lane & 31;
    return true;
}

/* Has the thread read the cell through a volatile variable, with nothing to order it since? */
static bool has_just_read(const gm_race_visit *v, const gm_cell *at)
{
    if (!at->read || !(at->read_lanes >> v->lane & 1)) {
        return false;
    }
    const gm_event *read = gm_event_at(v->log, at->read), *mine = v->mine;
    return read->strength == GM_VOLATILE && read->block == mine->block &&
           read->interval == mine->interval && read->tick == mine->tick && read->warp == mine->warp;
}

static bool is_updated_last(const gm_race_visit *v, const gm_cell *at)
{
    const gm_event *write = at->write ? gm_event_at(v->log, at->write) : NULL;
    return write && write->kind == GM_UPDATE && write->block == v->mine->block &&
           !unordered_lanes(v->trace, write, 1u << at->write_lane);
}

/* Checks an access against all that the cell keeps, and adds it. */
static gm_status visit_cell(gm_race_visit *v, gm_cell *at)
{
    gm_status status = GM_OK;
    bool merged = false;
    v->at_once = v->of_warps = v->of_blocks = 0;
    v->updated_last = !v->mine->strength && is_updated_last(v, at);
    v->in_two_steps =
        v->mine->kind == GM_STORE && v->mine->strength == GM_VOLATILE && has_just_read(v, at);
    if (at->write) {
        verdict is = judge(v, at->write, 1u << at->write_lane, &status);
        merged = is == MERGE && at->write_lane == v->lane;
        at->write = is == DROP ? 0 : at->write;
    }
    if (at->read && status == GM_OK) {
        verdict is = judge(v, at->read, at->read_lanes, &status);
        if (is == DROP) {
            at->read = at->by_blocks = at->by_warps = 0;
        }
        at->read_lanes |= is == MERGE ? 1u << v->lane : 0;
        merged = merged || is == MERGE;
    }
    for (uint32_t before = 0, index = at->more; index && status == GM_OK;) {
        gm_cell_record *one = &v->r->records.list[index];
        uint32_t next = one->next;
        verdict is = judge_record(v, one, &status);
        if (is == DROP) {
            gm_cell_remove(&v->r->records, at, before, index);
        } else {
            one->lanes |= is == MERGE && !merged ? 1u << v->lane : 0;
            merged = merged || is == MERGE;
            before = index;
        }
        index = next;
    }
    if (status == GM_OK && v->kept && !merged && !keep_access(v, at)) {
        status = out_of_memory();
    }
    return status;
}

/* Empties a cell of shared memory that holds nothing since the last barrier of the block. */
static inline void refresh(const gm_race_visit *v, gm_cell *at)
{
    if (at->write < v->log->first && at->read < v->log->first) {
        if (at->more) {
            gm_cell_clear(&v->r->records, at);
        }
        at->write = at->read = at->by_blocks = at->by_warps = 0;
    }
}

/* The frequent cases of an access that the cell keeps; false: none of them. */
static inline bool visit_quickly(const gm_race_visit *v, gm_cell *at)
{
    if (v->mine->kind == GM_LOAD) {
        if (at->write || (at->read && at->read != v->event)) {
            return !at->write && !v->mine->strength && gm_race_read_enough(v, at);
        }
        at->read_lanes = (at->read ? at->read_lanes : 0) | 1u << v->lane;
        at->read = v->event;
        return true;
    }
    if (at->write || at->read || at->more) {
        return false;
    }
    at->write = v->event;
    at->write_lane = v->lane & 31;
    return true;
}

/* ---- accesses ----------------------------------------------------------------------------- */

static gm_status visit_bytes(gm_race_visit *v, gm_cell_page **pages, uintptr_t offset,
                             uintptr_t last)
{
    gm_status status = GM_OK;
    while (offset < last && status == GM_OK) {
        uintptr_t stop = (offset | (GM_PAGE_BYTES - 1)) + 1;
        stop = stop < last ? stop : last;
        gm_cell_page *p =
            gm_race_page(v->r, &pages[offset >> GM_PAGE_BITS], (offset | stop) % 4 != 0);
        if (!p) {
            return out_of_memory();
        }
        int shift = p->fine ? 0 : 2;
        gm_cell *at = &p->cells[(offset & (GM_PAGE_BYTES - 1)) >> shift];
        gm_cell *past = at + ((stop - offset) >> shift);
        for (; at < past && status == GM_OK; at++) {
            refresh(v, at);
            if (!v->kept || !visit_quickly(v, at)) {
                status = visit_cell(v, at);
            }
        }
        offset = stop;
    }
    return status;
}

static gm_status observe(void *state, gm_trace *trace, const gm_access *access)
{
    gm_races *r = state;
    gm_block_races *b = gm_block_state(trace, GM_OBSERVER_races);
    bool shared = trace->sites.list[access->site].space == GM_SPACE_SHARED;
    gm_moment moment = gm_clock_now(trace->clock, trace->thread);
    uintptr_t offset = 0;
    if (r->now.tick != moment.tick || r->now.warp != moment.thread / GM_WARP ||
        r->now.interval != moment.interval || r->now.block != trace->block_number) {
        gm_race_moment(r, b, trace, moment);
    }
    gm_event_log *l = shared ? &b->log : &r->log;
    gm_cell_page **pages = gm_race_memory(r, b, trace, shared, access->address, &offset);
    uint32_t number = gm_race_event(l, trace, &r->now, access);
    if (!number || !pages) {
        return out_of_memory();
    }
    gm_race_visit v = {
        .r = r,
        .trace = trace,
        .log = l,
        .mine = gm_event_at(l, number),
        .event = number,
        .lane = access->lane,
        .kept = !shared || trace->call->actor != GM_BY_ENGINE,
    };
    return visit_bytes(&v, pages, offset, offset + access->bytes);
}

/* ---- a launch and its blocks -------------------------------------------------------------- */

static gm_status begin(void *state, gm_trace *trace)
{
    gm_races *r = state;
    r->log.first = 1;
    r->now.block = -1;
    r->pages = calloc((size_t)trace->spaces.global_count + 1, sizeof *r->pages);
    return r->pages ? GM_OK : out_of_memory();
}

static gm_status block_begins(void *state, gm_trace *trace)
{
    gm_block_races *b = gm_block_state(trace, GM_OBSERVER_races);
    (void)state;
    b->log.first += !b->log.first;
    return GM_OK;
}

static void free_block(void *block_state)
{
    gm_block_races *b = block_state;
    gm_event_log_free(&b->log);
    gm_pages_free(b->pages, b->span);
}

static void end(void *state, gm_trace *trace)
{
    gm_races *r = state;
    for (int i = 0; r->pages && i < trace->spaces.global_count; i++) {
        gm_region memory = trace->spaces.global[i];
        gm_pages_free(r->pages[i], memory.end - memory.begin);
    }
    free(r->pages);
    free(r->records.list);
    gm_event_log_free(&r->log);
}

const gm_observer gm_observer_races = {
    .name = "races",
    .state_bytes = sizeof(gm_races),
    .block_bytes = sizeof(gm_block_races),
    .accesses = GM_SEES(GM_SPACE_GLOBAL) | GM_SEES(GM_SPACE_SHARED),
    .clean = GM_SEES(GM_LOAD) | GM_SEES(GM_STORE),
    .about_order = true,
    .begin = begin,
    .end = end,
    .free_block = free_block,
    .block = block_begins,
    .access = observe,
    .take = gm_race_take,
    .put_back = gm_race_put_back,
};
