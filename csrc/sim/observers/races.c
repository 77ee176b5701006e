/*
 * Observer: two threads of a block access one byte of shared memory, one of them writes, and
 * nothing orders the two.
 *
 * Each word of shared memory keeps the accesses since the last barrier of the block, one record for
 * the lanes of a warp that did the same at the same tick. A record that is ordered before an access
 * which covers it can be dropped: a later access that is not ordered after the record is not
 * ordered after that access either.
 */
#include <stdlib.h>

#include "sim/observer.h"

typedef struct record {
    uint32_t next; /* 0: none */
    uint32_t tick, lanes, site;
    uint16_t warp;
    uint8_t bytes; /* which of the word's four */
    bool write;
} record;

typedef struct word {
    uint32_t interval; /* of its records; in a later interval there are none */
    uint32_t first;
} word;

typedef struct races {
    word *words;
    record *records; /* from 1; all are dropped at a barrier of the block */
    uint32_t count, room, idle;
    uint32_t interval;
} races;

static gm_status race(gm_trace *trace, const record *before, unsigned unordered, bool write)
{
    const gm_site *site = &trace->sites.list[before->site];
    gm_dim mine = gm_trace_thread(trace, trace->thread);
    gm_dim other = gm_trace_thread(trace, before->warp * GM_WARP + __builtin_ctz(unordered));
    const char *does = write ? "writes over" : "reads";
    if (trace->call->actor == GM_BY_ENGINE) {
        does = write ? "has the copy engine write over" : "has the copy engine read";
    }
    return gm_fail(GM_ERROR_SIMULATION,
                   "a race: thread (%u, %u, %u) %s what thread (%u, %u, %u) %s at %s:%d, with no "
                   "barrier between",
                   mine.x, mine.y, mine.z, does, other.x, other.y, other.z,
                   before->write ? "wrote" : "read", site->file ? site->file : "?", site->line);
}

/* Index of a free record; 0 when memory ran out. */
static uint32_t take(races *r)
{
    uint32_t index = r->idle;
    if (index) {
        r->idle = r->records[index].next;
        return index;
    }
    if (r->count + 1 >= r->room) {
        uint32_t room = r->room ? 2 * r->room : 1024;
        record *records = realloc(r->records, room * sizeof *records);
        if (!records) {
            return 0;
        }
        r->records = records;
        r->room = room;
    }
    return ++r->count;
}

static gm_status visit(races *r, gm_trace *trace, word *at, record mine)
{
    bool merged = trace->call->actor == GM_BY_ENGINE; /* another observer checks its order */
    if (at->interval != r->interval) {
        *at = (word){.interval = r->interval};
    }
    for (uint32_t *link = &at->first; *link;) {
        record *before = &r->records[*link];
        if (before->bytes & mine.bytes) {
            unsigned unordered = gm_clock_unordered(trace->clock, before->warp, before->tick,
                                                    before->lanes, trace->thread);
            if (unordered && (before->write || mine.write)) {
                return race(trace, before, unordered, mine.write);
            }
            if (!merged && before->tick == mine.tick && before->warp == mine.warp &&
                before->site == mine.site && before->bytes == mine.bytes) {
                before->lanes |= mine.lanes;
                merged = true;
            } else if (!merged && !unordered && (mine.write || !before->write) &&
                       !(before->bytes & ~mine.bytes)) {
                uint32_t index = *link;
                *link = before->next;
                before->next = r->idle;
                r->idle = index;
                continue;
            }
        }
        link = &before->next;
    }
    if (!merged) {
        uint32_t index = take(r);
        if (!index) {
            return gm_fail(GM_ERROR_MEMORY, "out of memory for the accesses to shared memory");
        }
        mine.next = at->first;
        r->records[index] = mine;
        at->first = index;
    }
    return GM_OK;
}

static gm_status shared_access(void *state, gm_trace *trace, const gm_access *access)
{
    races *r = gm_block_state(trace, GM_OBSERVER_races);
    (void)state;
    gm_moment now = gm_clock_now(trace->clock, trace->thread);
    uintptr_t begin = gm_shared_offset(&trace->spaces, access->address),
              end = begin + access->bytes;
    gm_status status = GM_OK;
    if (!r->words) {
        r->words = calloc(trace->spaces.shared_span / 4 + 1, sizeof *r->words);
        if (!r->words) {
            return gm_fail(GM_ERROR_MEMORY, "out of memory for the accesses to shared memory");
        }
    }
    if (r->interval != now.interval) {
        r->interval = now.interval;
        r->count = r->idle = 0;
    }
    record mine = {
        .tick = now.tick,
        .lanes = 1u << access->lane,
        .site = access->site,
        .warp = (uint16_t)(trace->thread / GM_WARP),
        .write = trace->sites.list[access->site].kind == GM_STORE,
    };
    for (uintptr_t word = begin / 4; 4 * word < end && status == GM_OK; word++) {
        mine.bytes = (uint8_t)gm_bytes_of_word(word, begin, end);
        status = visit(r, trace, &r->words[word], mine);
    }
    return status;
}

static void free_block(void *block_state)
{
    races *r = block_state;
    free(r->words);
    free(r->records);
}

const gm_observer gm_observer_races = {
    .name = "races",
    .block_bytes = sizeof(races),
    .accesses = GM_SEES(GM_SPACE_SHARED),
    .about_order = true,
    .access = shared_access,
    .free_block = free_block,
};
