/*
 * Observer: reads of shared memory that nothing in the block has written, and of global memory that
 * nothing has written since it was allocated.
 *
 * Threads run one after another, so that another thread may yet write those bytes. Then the two
 * threads race, and the race is the fault to report. So the first such read is held back until the
 * next barrier of the block; of global memory, until the last block has ended.
 */
#include <stdlib.h>

#include "sim/observer.h"

/* A read that is held back. */
typedef struct held_back {
    uint32_t missing; /* bytes that are not written; 0: there is none */
    gm_access read;
    int thread;
    gm_dim block;
} held_back;

typedef struct uninitialised {
    uint32_t *words; /* number of the block that wrote there last << 4 | which of the four bytes */
    uint32_t block;  /* 28 bits */
    held_back shared;
} uninitialised;

typedef struct of_launch {
    held_back global;
    int64_t blocks_ended;
} of_launch;

static gm_status block_begins(void *state, gm_trace *trace)
{
    uninitialised *u = gm_block_state(trace, GM_OBSERVER_uninitialised);
    (void)state;
    u->block = (u->block + 1) & 0xfffffff;
    return GM_OK;
}

static gm_status report(gm_trace *trace, held_back *held)
{
    uint32_t missing = held->missing;
    held->missing = 0; /* others may follow */
    const gm_site *site = &trace->sites.list[held->read.site];
    bool shared = site->space == GM_SPACE_SHARED;
    gm_trace_place(trace, site->file, site->line, held->thread);
    gm_trace_place_in(trace, held->block);
    return gm_find(GM_RULE_UNINITIALISED,
                   "load of %u bytes of %s memory, %u of which nothing %s written: uninitialised",
                   held->read.bytes, gm_space_name(site->space), missing,
                   shared ? "in the block has" : "has");
}

static gm_status at_barrier(void *state, gm_trace *trace)
{
    uninitialised *u = gm_block_state(trace, GM_OBSERVER_uninitialised);
    (void)state;
    return u->shared.missing ? report(trace, &u->shared) : GM_OK;
}

static gm_status stopped(void *state, gm_trace *trace)
{
    of_launch *l = state;
    gm_status status = at_barrier(state, trace);
    return status == GM_OK && l->global.missing ? report(trace, &l->global) : status;
}

static gm_status block_ends(void *state, gm_trace *trace)
{
    of_launch *l = state;
    int64_t blocks = (int64_t)trace->grid.x * trace->grid.y * trace->grid.z;
    gm_status status = at_barrier(state, trace);
    bool last = ++l->blocks_ended == blocks;
    return status == GM_OK && last && l->global.missing ? report(trace, &l->global) : status;
}

/* How many of the bytes are not written yet. Then they are, if it is a store. */
static uint32_t visit_shared(uninitialised *u, const gm_trace *trace, const gm_access *access,
                             bool store)
{
    uintptr_t begin = gm_shared_offset(&trace->spaces, access->address),
              end = begin + access->bytes;
    uint32_t missing = 0;
    for (uintptr_t word = begin / 4; 4 * word < end; word++) {
        uint32_t bytes = gm_bytes_of_word(word, begin, end);
        uint32_t written = u->words[word] >> 4 == u->block ? u->words[word] & 0xF : 0;
        missing += (uint32_t)__builtin_popcount(bytes & ~written);
        if (store) {
            u->words[word] = u->block << 4 | written | bytes;
        }
    }
    return missing;
}

static uint32_t visit_global(const gm_trace *trace, const gm_access *access, bool load, bool store)
{
    gm_written *written = trace->spaces.areas[trace->spaces.last_global].written;
    uintptr_t begin = access->address, end = begin + access->bytes;
    /* gpumem's own kernels move whatever an array holds. */
    bool looks = load && trace->spaces.module->loaded;
    uint32_t missing = written && looks ? gm_written_missing(written, begin, end) : 0;
    if (written && store) {
        gm_written_add(written, begin, end);
    }
    return missing;
}

static gm_status visit(void *state, gm_trace *trace, const gm_access *access)
{
    uninitialised *u = gm_block_state(trace, GM_OBSERVER_uninitialised);
    of_launch *l = state;
    const gm_site *site = &trace->sites.list[access->site];
    bool load = site->kind != GM_STORE, store = site->kind != GM_LOAD;
    uint32_t missing;
    if (site->space == GM_SPACE_GLOBAL) {
        missing = visit_global(trace, access, load, store);
    } else {
        if (!u->words &&
            !(u->words = calloc(trace->spaces.shared_span / 4 + 1, sizeof *u->words))) {
            return gm_fail(GM_ERROR_MEMORY, "out of memory for the bytes written in shared memory");
        }
        missing = visit_shared(u, trace, access, store);
    }
    /* Of a structure that is copied some bytes may be padding; up to 7 if it has 16 bytes. */
    bool may_pad = access->bytes == 16 && !site->vector;
    uint32_t padding = site->actor == GM_BY_BYTES ? access->bytes - 1 : may_pad ? 7 : 0;
    held_back *held = site->space == GM_SPACE_GLOBAL ? &l->global : &u->shared;
    if (load && missing > padding && !held->missing) {
        *held = (held_back){missing, *access, trace->thread, trace->block_index};
    }
    return GM_OK;
}

/* A request to global memory of which all bytes that are read are written. */
static gm_take take(void *state, gm_trace *trace, const gm_request *request)
{
    gm_written *written = trace->spaces.areas[trace->spaces.last_global].written;
    const gm_site *site = request->site;
    bool looks = site->kind != GM_STORE && trace->spaces.module->loaded;
    (void)state;
    if (looks && written && gm_written_missing(written, request->begin, request->end)) {
        for (int lane = 0; lane < request->lanes; lane++) {
            uintptr_t begin = request->address[lane], end = begin + request->bytes[lane];
            if (request->gapless || gm_written_missing(written, begin, end)) {
                return GM_REFUSES;
            }
        }
    }
    if (written && site->kind != GM_LOAD && request->gapless) {
        gm_written_add(written, request->begin, request->end);
    } else if (written && site->kind != GM_LOAD) {
        for (int i = 0; i < request->lanes; i++) {
            gm_written_add(written, request->address[i], request->address[i] + request->bytes[i]);
        }
    }
    return GM_TAKES;
}

static void free_block(void *block_state)
{
    uninitialised *u = block_state;
    free(u->words);
}

const gm_observer gm_observer_uninitialised = {
    .name = "uninitialised",
    .state_bytes = sizeof(of_launch),
    .block_bytes = sizeof(uninitialised),
    .accesses = GM_SEES(GM_SPACE_SHARED) | GM_SEES(GM_SPACE_GLOBAL),
    .clean = GM_SEES(GM_LOAD),
    .block = block_begins,
    .block_end = block_ends,
    .barrier = at_barrier,
    .access = visit,
    .take = take,
    .stopped = stopped,
    .free_block = free_block,
};
