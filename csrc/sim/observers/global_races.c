/*
 * Observer: two blocks of a launch access one byte of global memory, and one of them writes.
 * Nothing orders blocks.
 *
 * Blocks are traced one after another, so that for each byte it is enough to know which block wrote
 * it and which one read it first. A page keeps this for each word of four bytes until a narrower
 * access comes, and then for each byte.
 *
 * When simt.h gets atomics, they need a kind of their own: two atomics do not conflict.
 */
#include <stdlib.h>

#include "sim/observer.h"

enum { PAGE_BITS = 14, PAGE_BYTES = 1 << PAGE_BITS };

/* A visit is one block at one source line. Visits are numbered in ascending order, so that those of
 * the present block are at least its first; 0: none. */
typedef struct cell {
    uint32_t written, read;
} cell;

typedef struct page {
    bool fine; /* a cell per byte */
    cell cells[];
} page;

typedef struct visit {
    int64_t block;
    uint32_t site;
} visit;

typedef struct global_races {
    page ***pages; /* per region, per page */
    visit *visits; /* from 1 */
    uint32_t visit_count, visit_room;
    uint32_t first; /* of this block */
    uint32_t *here; /* per site: its last visit */
    int site_room;
} global_races;

static gm_status out_of_memory(void)
{
    return gm_fail(GM_ERROR_MEMORY,
                   "out of memory for the accesses to global memory; trace a smaller shape");
}

static gm_status begin(void *state, gm_trace *trace)
{
    global_races *g = state;
    g->pages = calloc((size_t)trace->spaces.global_count + 1, sizeof *g->pages);
    return g->pages ? GM_OK : out_of_memory();
}

static void end(void *state, gm_trace *trace)
{
    global_races *g = state;
    for (int i = 0; g->pages && i < trace->spaces.global_count; i++) {
        size_t bytes = trace->spaces.global[i].end - trace->spaces.global[i].begin;
        for (size_t p = 0; g->pages[i] && p < (bytes + PAGE_BYTES - 1) / PAGE_BYTES; p++) {
            free(g->pages[i][p]);
        }
        free(g->pages[i]);
    }
    free(g->pages);
    free(g->visits);
    free(g->here);
}

static gm_status block_begins(void *state, gm_trace *trace)
{
    global_races *g = state;
    (void)trace;
    g->first = g->visit_count + 1;
    return GM_OK;
}

/* Number of this visit; 0 when memory ran out. */
static uint32_t visit_of(global_races *g, const gm_trace *trace, uint32_t site)
{
    if (trace->sites.count > g->site_room) {
        int room = trace->sites.room;
        uint32_t *here = realloc(g->here, (size_t)room * sizeof *here);
        if (!here) {
            return 0;
        }
        for (int i = g->site_room; i < room; i++) {
            here[i] = 0;
        }
        g->here = here;
        g->site_room = room;
    }
    if (g->here[site] >= g->first) {
        return g->here[site];
    }
    if (g->visit_count + 1 >= g->visit_room) {
        uint32_t room = g->visit_room ? 2 * g->visit_room : 256;
        visit *visits = room ? realloc(g->visits, room * sizeof *visits) : NULL;
        if (!visits) {
            return 0;
        }
        g->visits = visits;
        g->visit_room = room;
    }
    g->visits[++g->visit_count] = (visit){trace->block_number, site};
    return g->here[site] = g->visit_count;
}

static page *make_page(bool fine)
{
    page *made = calloc(1, sizeof *made + (fine ? PAGE_BYTES : PAGE_BYTES / 4) * sizeof(cell));
    if (made) {
        made->fine = fine;
    }
    return made;
}

/* The page of an offset, with a cell per byte if `fine`. */
static page *find_page(global_races *g, const gm_trace *trace, uintptr_t offset, bool fine)
{
    int region = trace->spaces.last_global;
    if (!g->pages[region]) {
        size_t bytes = trace->spaces.global[region].end - trace->spaces.global[region].begin;
        g->pages[region] = calloc((bytes + PAGE_BYTES - 1) / PAGE_BYTES, sizeof(page *));
        if (!g->pages[region]) {
            return NULL;
        }
    }
    page **at = &g->pages[region][offset >> PAGE_BITS];
    if (!*at) {
        *at = make_page(fine);
    } else if (fine && !(*at)->fine) {
        page *made = make_page(true);
        for (int i = 0; made && i < PAGE_BYTES; i++) {
            made->cells[i] = (*at)->cells[i / 4];
        }
        if (made) {
            free(*at);
            *at = made;
        }
        return made;
    }
    return *at;
}

static gm_status conflict(const global_races *g, gm_trace *trace, uint32_t before, bool wrote,
                          bool writes)
{
    const visit *visited = &g->visits[before];
    const gm_site *site = &trace->sites.list[visited->site];
    gm_dim mine = trace->block_index, other = gm_trace_block_index(trace, visited->block);
    return gm_fail(GM_ERROR_SIMULATION,
                   "a race: block (%u, %u, %u) %s global memory that block (%u, %u, %u) %s at "
                   "%s:%d, and nothing orders blocks of a launch",
                   mine.x, mine.y, mine.z, writes ? "writes" : "reads", other.x, other.y, other.z,
                   wrote ? "wrote" : "read", site->file ? site->file : "?", site->line);
}

static gm_status global_access(void *state, gm_trace *trace, const gm_access *access)
{
    global_races *g = state;
    uintptr_t offset = access->address - trace->spaces.global[trace->spaces.last_global].begin;
    uintptr_t last = offset + access->bytes;
    bool write = trace->sites.list[access->site].kind == GM_STORE;
    uint32_t own = visit_of(g, trace, access->site);
    if (!own) {
        return out_of_memory();
    }
    while (offset < last) {
        uintptr_t stop = (offset | (PAGE_BYTES - 1)) + 1;
        stop = stop < last ? stop : last;
        page *p = find_page(g, trace, offset, (offset | stop) % 4 != 0);
        if (!p) {
            return out_of_memory();
        }
        int shift = p->fine ? 0 : 2;
        cell *at = &p->cells[(offset & (PAGE_BYTES - 1)) >> shift];
        cell *past = at + ((stop - offset) >> shift);
        for (; at < past; at++) {
            if (at->written && at->written < g->first) {
                return conflict(g, trace, at->written, true, write);
            }
            if (!write) {
                at->read = at->read ? at->read : own;
            } else if (at->read && at->read < g->first) {
                return conflict(g, trace, at->read, false, true);
            } else {
                at->written = own;
            }
        }
        offset = stop;
    }
    return GM_OK;
}

const gm_observer gm_observer_global_races = {
    .name = "global races",
    .state_bytes = sizeof(global_races),
    .accesses = GM_SEES(GM_SPACE_GLOBAL),
    .about_order = true,
    .begin = begin,
    .end = end,
    .block = block_begins,
    .access = global_access,
};
