/*
 * The observer of races, request by request: the accesses of a warp to global memory where nothing
 * that the cells keep can race with them.
 *
 * Until all of the batch is taken, cells only change so that put_back need but remove what is new.
 */
#include "sim/observers/races.h"

/* Are all accesses that the cell keeps by this lane, and taken in this batch? */
static inline bool is_own(const gm_race_visit *v, const gm_cell *at)
{
    const uint32_t taken = v->r->taken;
    return !at->more && (!at->write || (at->write >= taken && at->write_lane == v->lane)) &&
           (!at->read || (at->read >= taken && at->read_lanes == 1u << v->lane));
}

/* Does what an access comes to that no other thread's can race with. */
static inline gm_take take_cell(const gm_race_visit *v, gm_cell *at)
{
    if (v->mine->kind == GM_LOAD && !at->write) {
        if (!at->read || at->read == v->event) {
            at->read_lanes = (at->read ? at->read_lanes : 0) | 1u << v->lane;
            at->read = v->event;
        } else if (is_own(v, at)) {
            at->read = v->event;
        } else if (!gm_race_read_enough(v, at)) {
            return GM_TAKES_PARTLY;
        }
        return GM_TAKES;
    }
    if (!is_own(v, at)) {
        return GM_REFUSES;
    }
    if (v->mine->kind == GM_LOAD) {
        at->read = v->event;
        at->read_lanes = 1u << v->lane;
    } else {
        at->read = at->read_lanes = 0;
        at->write = v->event;
        at->write_lane = v->lane & 31;
    }
    return GM_TAKES;
}

/* Of reads by others, which went to the list, the last comes back. */
static inline void put_back_cell(gm_races *r, gm_cell *at)
{
    if (at->read >= r->taken) {
        at->read = at->read_lanes = at->by_blocks = at->by_warps = 0;
    }
    if (at->write >= r->taken) {
        at->write = at->write_lane = 0;
    }
    for (uint32_t before = 0, index = at->more; index;) {
        const gm_cell_record one = r->records.list[index];
        if (one.event >= r->taken) {
            gm_cell_remove(&r->records, at, before, index);
        } else {
            before = index;
        }
        index = one.next;
    }
    if (at->more && !at->read && !at->write) { /* a cell with a list has one of these */
        const gm_cell_record one = r->records.list[at->more];
        at->read = one.event;
        at->read_lanes = one.lanes;
        gm_cell_remove(&r->records, at, 0, at->more);
    }
}

/* Takes cells of a lane, or puts them back. */
static inline gm_take take_cells(gm_race_visit *v, gm_cell *at, uintptr_t count, bool back)
{
    gm_take took = GM_TAKES;
    for (gm_cell *past = at + count; at < past; at++) {
        gm_take one = GM_TAKES;
        if (back) {
            put_back_cell(v->r, at);
        } else {
            one = take_cell(v, at);
        }
        took = one < took ? one : took;
    }
    return took;
}

static gm_take take_lane(gm_race_visit *v, gm_cell_page **pages, uintptr_t offset, uintptr_t last,
                         bool back)
{
    gm_take took = GM_TAKES;
    while (offset < last && took != GM_REFUSES) {
        uintptr_t stop = (offset | (GM_PAGE_BYTES - 1)) + 1;
        stop = stop < last ? stop : last;
        gm_cell_page *p =
            gm_race_page(v->r, &pages[offset >> GM_PAGE_BITS], (offset | stop) % 4 != 0);
        if (!p) {
            return GM_REFUSES;
        }
        int shift = p->fine ? 0 : 2;
        gm_cell *at = &p->cells[(offset & (GM_PAGE_BYTES - 1)) >> shift];
        gm_take one = take_cells(v, at, (stop - offset) >> shift, back);
        took = one < took ? one : took;
        offset = stop;
    }
    return took;
}

/* Of a request that begins at `offset` and lies in one page of cells: those of a lane. */
static inline gm_take take_in_page(gm_race_visit *v, gm_cell_page *page, uintptr_t offset,
                                   uintptr_t bytes, bool back)
{
    gm_cell *at = &page->cells[(offset & (GM_PAGE_BYTES - 1)) >> (page->fine ? 0 : 2)];
    return take_cells(v, at, page->fine ? bytes : bytes / 4, back);
}

static inline gm_take take_all(gm_races *r, gm_trace *trace, const gm_request *request, bool back)
{
    gm_block_races *b = gm_block_state(trace, GM_OBSERVER_races);
    const gm_access access = {.site = (uint32_t)(request->site - trace->sites.list)};
    uintptr_t offset;
    gm_take took = GM_TAKES;
    if (r->batch != trace->batch) {
        r->batch = trace->batch;
        gm_race_moment(r, b, trace, gm_clock_now(trace->clock, trace->warp * GM_WARP));
        r->taken = r->log.now;
    }
    gm_cell_page **pages = gm_race_memory(r, b, trace, false, request->begin, &offset);
    uint32_t number = pages ? gm_race_event(&r->log, trace, &r->now, &access) : 0;
    if (!number) {
        return GM_REFUSES;
    }
    gm_race_visit v = {.r = r,
                       .trace = trace,
                       .log = &r->log,
                       .mine = gm_event_at(&r->log, number),
                       .event = number,
                       .kept = true};
    uintptr_t last = offset + (request->end - request->begin) - 1;
    bool words = request->shape->words && offset % 4 == 0;
    gm_cell_page *page = NULL;
    if (words && offset >> GM_PAGE_BITS == last >> GM_PAGE_BITS) {
        page = gm_race_page(r, &pages[offset >> GM_PAGE_BITS], false);
    }
    for (int i = 0; i < request->lanes && took != GM_REFUSES; i++) {
        uintptr_t at = request->address[i] - request->begin + offset;
        v.lane = request->lane[i];
        gm_take one = page ? take_in_page(&v, page, at, request->bytes[i], back)
                           : take_lane(&v, pages, at, at + request->bytes[i], back);
        took = one < took ? one : took;
    }
    return took;
}

gm_take gm_race_take(void *state, gm_trace *trace, const gm_request *request)
{
    return take_all(state, trace, request, false);
}

void gm_race_put_back(void *state, gm_trace *trace, const gm_request *request)
{
    take_all(state, trace, request, true);
}
