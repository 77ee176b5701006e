/*
 * Observer: __pipeline_memcpy_async, whose bytes may be touched only after a wait.
 *
 * The simulator copies at once. On a device the thread that asked for the copy may touch its bytes
 * after a wait that covers their group, and so may threads that are ordered after that wait. Until
 * then the bytes from which it copies may not be written over either. A wait covers all but the
 * last `pending` groups, empty groups included: a loop that commits in a branch waits for too few
 * groups in the end.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/observer.h"

typedef struct copy {
    uint32_t site, group;
    uint32_t words; /* of shared memory that still point here; 0: free */
    gm_region source;
    uint32_t next; /* in the list of its thread's unwaited copies, or of free ones */
    int thread;
    bool waited;
    gm_moment wait;
} copy;

typedef struct asker {
    uint32_t committed;   /* groups */
    uint32_t first, last; /* list of unwaited copies; 0: none */
} asker;

typedef struct pipeline {
    asker *askers;   /* per thread */
    uint32_t *words; /* per word of shared memory, its last copy; 0: none */
    uintptr_t low, high;
    copy *copies; /* from 1 */
    uint32_t count, room, idle;
    gm_region source;  /* in global memory, of the copy that is being asked for */
    gm_region sources; /* around those of all copies */
} pipeline;

static gm_status out_of_memory(void)
{
    return gm_fail(GM_ERROR_MEMORY, "out of memory for asynchronous copies");
}

static void free_block(void *block_state)
{
    pipeline *p = block_state;
    free(p->askers);
    free(p->words);
    free(p->copies);
}

static gm_status block_begins(void *state, gm_trace *trace)
{
    pipeline *p = gm_block_state(trace, GM_OBSERVER_pipeline);
    (void)state;
    if (!p->askers) {
        p->askers = calloc((size_t)trace->block_threads, sizeof *p->askers);
        return p->askers ? GM_OK : out_of_memory();
    }
    if (p->count == 0) {
        return GM_OK; /* the usual case: the kernel makes no such copies */
    }
    memset(p->askers, 0, (size_t)trace->block_threads * sizeof *p->askers);
    memset(&p->words[p->low], 0, (p->high - p->low) * sizeof *p->words);
    p->count = p->idle = 0;
    p->source = p->sources = (gm_region){0, 0};
    return GM_OK;
}

/* Index of a free copy; 0 when memory ran out. */
static uint32_t take(pipeline *p)
{
    uint32_t index = p->idle;
    if (index) {
        p->idle = p->copies[index].next;
        return index;
    }
    if (p->count + 1 >= p->room) {
        uint32_t room = p->room ? 2 * p->room : 1024;
        copy *copies = realloc(p->copies, room * sizeof *copies);
        if (!copies) {
            return 0;
        }
        p->copies = copies;
        p->room = room;
    }
    return ++p->count;
}

/* The word holds a value ordered after the copy now. */
static void forget(pipeline *p, uintptr_t word)
{
    uint32_t index = p->words[word];
    p->words[word] = 0;
    if (index && --p->copies[index].words == 0) {
        p->copies[index].next = p->idle;
        p->idle = index;
    }
}

/* Is the end of the copy ordered before the running thread? */
static bool is_over(const copy *c, const gm_trace *trace)
{
    return c->waited && gm_clock_before(trace->clock, c->wait, trace->thread);
}

static gm_status early(const gm_trace *trace, const pipeline *p, const copy *c, bool write,
                       const char *copy_does)
{
    const gm_site *site = &trace->sites.list[c->site];
    const char *does = write ? "writes over" : "reads";
    gm_dim mine = gm_trace_thread(trace, trace->thread), other = gm_trace_thread(trace, c->thread);
    if (c->waited) {
        return gm_find(GM_RULE_RACE_COPY,
                       "a race: thread (%u, %u, %u) %s what the asynchronous copy of thread (%u, "
                       "%u, %u) at %s:%d %s, with no barrier after that thread's wait",
                       mine.x, mine.y, mine.z, does, other.x, other.y, other.z, site->file,
                       site->line, copy_does);
    }
    const char *why = c->group < p->askers[c->thread].committed
                          ? "no wait of that thread covers the copy's group"
                          : "the copy is not committed";
    return gm_find(GM_RULE_COPY_NOT_AWAITED,
                   "thread (%u, %u, %u) %s what the asynchronous copy of thread (%u, %u, %u) at "
                   "%s:%d %s, and %s",
                   mine.x, mine.y, mine.z, does, other.x, other.y, other.z, site->file, site->line,
                   copy_does, why);
}

static gm_status start(pipeline *p, const gm_trace *trace, const gm_access *access, uintptr_t first,
                       uintptr_t past)
{
    asker *a = &p->askers[trace->thread];
    uint32_t index = take(p);
    if (!index) {
        return out_of_memory();
    }
    p->copies[index] = (copy){.site = access->site,
                              .group = a->committed,
                              .words = (uint32_t)(past - first),
                              .source = p->source,
                              .thread = trace->thread};
    if (a->first) {
        p->copies[a->last].next = index;
    } else {
        a->first = index;
    }
    a->last = index;
    for (uintptr_t word = first; word < past; word++) {
        p->words[word] = index;
    }
    gm_region_extend(&p->sources, p->source);
    p->source = (gm_region){0, 0};
    p->low = p->low < first ? p->low : first;
    p->high = p->high > past ? p->high : past;
    return GM_OK;
}

/* Global memory: what a copy may still have to read. */
static gm_status access_source(pipeline *p, const gm_trace *trace, const gm_access *access,
                               const gm_site *site)
{
    gm_region accessed = {access->address, access->address + access->bytes};
    if (site->actor == GM_BY_PIPELINE) {
        p->source = accessed;
        return GM_OK;
    }
    if (site->kind == GM_LOAD || !gm_regions_meet(accessed, p->sources)) {
        return GM_OK;
    }
    for (uint32_t i = 1; i <= p->count; i++) {
        const copy *c = &p->copies[i];
        if (c->words > 0 && gm_regions_meet(accessed, c->source) && !is_over(c, trace)) {
            return early(trace, p, c, true, "reads");
        }
    }
    return GM_OK;
}

static gm_status access(void *state, gm_trace *trace, const gm_access *access)
{
    pipeline *p = gm_block_state(trace, GM_OBSERVER_pipeline);
    (void)state;
    const gm_site *site = &trace->sites.list[access->site];
    bool write = site->kind == GM_STORE, own = site->actor == GM_BY_PIPELINE;
    if (p->count == 0 && !own) {
        return GM_OK;
    }
    if (site->space == GM_SPACE_GLOBAL) {
        return access_source(p, trace, access, site);
    }
    if (!p->words) {
        p->low = trace->spaces.shared_span / 4 + 1;
        p->words = calloc(p->low, sizeof *p->words);
        if (!p->words) {
            return out_of_memory();
        }
    }
    uintptr_t from = gm_shared_offset(&trace->spaces, access->address);
    uintptr_t first = from / 4, past = (from + access->bytes + 3) / 4;
    for (uintptr_t word = first; word < past; word++) {
        const copy *c = &p->copies[p->words[word]];
        if (!p->words[word]) {
            continue;
        }
        if (!is_over(c, trace)) {
            return early(trace, p, c, write, "writes");
        }
        if (write && gm_bytes_of_word(word, from, from + access->bytes) == 0xF) {
            forget(p, word);
        }
    }
    return own ? start(p, trace, access, first, past) : GM_OK;
}

static gm_status sync(void *state, gm_trace *trace, const gm_sync *sync)
{
    pipeline *p = gm_block_state(trace, GM_OBSERVER_pipeline);
    (void)state;
    asker *a = &p->askers[trace->thread];
    if (sync->kind == GM_PIPELINE_COMMIT) {
        a->committed++;
    } else if (sync->kind == GM_PIPELINE_WAIT) {
        while (a->first && p->copies[a->first].group + sync->pending < a->committed) {
            copy *c = &p->copies[a->first];
            c->waited = true;
            c->wait = gm_clock_now(trace->clock, trace->thread);
            a->first = c->next;
        }
    }
    return GM_OK;
}

static gm_status thread_end(void *state, gm_trace *trace)
{
    const pipeline *p = gm_block_state(trace, GM_OBSERVER_pipeline);
    (void)state;
    const asker *a = &p->askers[trace->thread];
    if (!a->first) {
        return GM_OK;
    }
    const copy *c = &p->copies[a->first];
    const gm_site *site = &trace->sites.list[c->site];
    gm_trace_place(trace, site->file, site->line, trace->thread);
    return gm_find(GM_RULE_COPY_NOT_AWAITED, "an asynchronous copy that %s before its thread ends",
                   c->group < a->committed ? "no wait covers" : "is never committed");
}

const gm_observer gm_observer_pipeline = {
    .name = "pipeline",
    .block_bytes = sizeof(pipeline),
    .accesses = GM_SEES(GM_SPACE_SHARED) | GM_SEES(GM_SPACE_GLOBAL),
    .after = GM_SEES(GM_BY_PIPELINE),
    .about_order = true,
    .free_block = free_block,
    .block = block_begins,
    .thread_end = thread_end,
    .sync = sync,
    .access = access,
};
