/*
 * The access stream: every memory access of a traced kernel, rebuilt into warp requests.
 *
 * Observers subscribe to it and know nothing of each other. An observer sees each access as it
 * happens, the events between accesses, and each request once a warp has issued it whole.
 */
#ifndef GPUMEM_TRACE_H
#define GPUMEM_TRACE_H

#include "gpumem.h"
#include "sim/fiber.h"
#include "sim/hooks.h"
#include "sim/memory.h"
#include "sim/order.h"

typedef enum gm_space {
    GM_SPACE_GLOBAL,
    GM_SPACE_SHARED,
    GM_SPACE_CONSTANT,
    GM_SPACE_UNKNOWN, /* in no allocation: always an error */
    GM_SPACE_PRIVATE, /* stack and arguments: not observed */
} gm_space;

typedef enum gm_actor {
    GM_BY_THREAD,
    GM_BY_ENGINE,   /* a bulk or tensor copy: no request of a warp to the banks */
    GM_BY_PIPELINE, /* __pipeline_memcpy_async */
} gm_actor;

/* One request as it was, for a picture. */
typedef struct gm_sample {
    int64_t number; /* requests are numbered in the order of their warps */
    gm_dim block;
    int warp, lanes;
    uintptr_t base; /* start of the allocation; for shared memory gm_trace.shared_low will do */
    uintptr_t address[GM_WARP];
    uint32_t bytes[GM_WARP];
    uint8_t lane[GM_WARP];
} gm_sample;

enum { GM_SAMPLES = 32 }; /* kept per site */

/* Where in the source an access stands; several program counters may share a line. */
typedef struct gm_site {
    const void *address; /* return address of the call that the compiler put before it */
    const char *file;
    int line;
    gm_space space;
    gm_kind kind;
    gm_actor actor;
    int width; /* bytes, the widest seen */
    int64_t requests, lanes, bytes, sectors, lines, passes, fewest;
    int64_t uncertain; /* accesses in requests that a GPU may form otherwise, see requests.h */
    gm_sample *samples;
    int sample_count;
} gm_site;

typedef struct gm_access {
    uintptr_t address;
    uint32_t bytes;
    uint32_t site;
    uint8_t lane;
} gm_access;

/* One memory instruction of one warp. */
typedef struct gm_request {
    gm_site *site;
    int lanes;
    uintptr_t address[GM_WARP];
    uint32_t bytes[GM_WARP];
    uint8_t lane[GM_WARP]; /* ascending */
} gm_request;

/* One access as the kernel makes it. With file NULL the code address tells the line. */
typedef struct gm_trace_call {
    const void *code;
    uintptr_t address;
    uint32_t bytes;
    gm_kind kind;
    const char *file;
    int line;
    gm_actor actor;
    const void *mbarrier; /* of an engine's store to shared memory */
} gm_trace_call;

/* All hooks but `name` may be NULL. A status other than GM_OK stops the kernel, at the access or
 * where gm_trace_fault said. */
typedef struct gm_observer {
    const char *name;
    size_t state_bytes; /* of zeros, for each launch */
    unsigned accesses;  /* which: bits GM_SEES(space), and GM_SEES_PREFETCHES */
    bool about_order;   /* its faults are about missing order between threads */
    gm_status (*begin)(void *state, gm_trace *trace); /* of a launch */
    void (*end)(void *state, gm_trace *trace);        /* frees what the state owns */
    gm_status (*block)(void *state, gm_trace *trace); /* a new block begins */
    gm_status (*block_end)(void *state, gm_trace *trace);
    gm_status (*barrier)(void *state, gm_trace *trace); /* all threads of the block have met */
    gm_status (*thread_end)(void *state, gm_trace *trace);
    gm_status (*sync)(void *state, gm_trace *trace, const gm_sync *sync);
    gm_status (*access)(void *state, gm_trace *trace, const gm_access *access);
    gm_status (*request)(void *state, gm_trace *trace, const gm_request *request);
    /* The kernel is being stopped, not for want of order: an access that was let pass until more
     * would be known may be the cause. */
    gm_status (*stopped)(void *state, gm_trace *trace);
} gm_observer;

enum {
    GM_SEES_PREFETCHES = 1 << 8,
    GM_MAX_OBSERVERS = 16,
};
#define GM_SEES(space) (1u << (space))

typedef struct gm_subscriber {
    const gm_observer *observer;
    void *state;
} gm_subscriber;

/* One kernel of a call: the variant's own, or a helper's. */
typedef struct gm_trace_kernel {
    const char *name, *doc;
    gm_dim grid, block;
    int64_t shared_bytes, threads, warps, barriers;
} gm_trace_kernel;

struct gm_trace {
    /* The result. */
    gm_trace_kernel *kernels; /* in the order of their launches */
    int kernel_count;
    gm_site *sites;
    int site_count;
    /* What warps asked for of __shared__ variables: from the lowest address to past the highest. */
    uintptr_t shared_low, shared_high;

    /* While a launch runs: what observers may read. */
    gm_dim grid, block;
    gm_region *regions;
    int region_count, last_region; /* last_region: that of the last global access */
    gm_region shared_static, shared_dynamic, constant;
    uintptr_t shared_span; /* every gm_shared_offset is below it */
    gm_order *order;
    gm_dim block_index;
    int64_t block_number;
    int thread, warp, block_threads; /* thread: the one that runs, its number in the block */
    const gm_trace_call *call;       /* the access that is being observed */
    int64_t request_number;

    /* Where the fault is, if not at the access; thread -1: not set. */
    struct {
        const char *file;
        int line, thread;
    } fault;

    /* The trace's own. */
    int site_room;
    int32_t *table; /* hash of (address, space, kind) to site + 1 */
    int table_size;
    gm_region arguments, lane, image;
    const gm_fiber_pool *stacks;
    gm_access *stream; /* of one warp, since its last barrier */
    int64_t stream_count, stream_room;
    gm_subscriber subscribers[GM_MAX_OBSERVERS];
    gm_subscriber access_subscribers[GM_SPACE_PRIVATE + 1][GM_MAX_OBSERVERS];
    int access_counts[GM_SPACE_PRIVATE + 1];
};

typedef struct gm_trace_launch {
    gm_dim grid, block;
    const void *args;
    size_t args_size;
    void *shared_dynamic;
    size_t shared_bytes;
    const gm_fiber_pool *stacks;
} gm_trace_launch;

extern const gm_observer gm_bounds_observer, gm_alignment_observer, gm_sectors_observer,
    gm_banks_observer, gm_samples_observer, gm_uninitialised_observer, gm_pipeline_observer,
    gm_engine_observer, gm_races_observer, gm_global_races_observer, gm_constants_observer;

gm_trace *gm_trace_create(void);
void gm_trace_destroy(gm_trace *trace);

gm_status gm_trace_begin(gm_trace *trace, const gm_trace_launch *launch);
void gm_trace_end(gm_trace *trace);
/* Keeps what a launch came to. */
gm_status gm_trace_kernel_add(gm_trace *trace, const gm_trace_kernel *kernel);
gm_status gm_trace_block(gm_trace *trace, gm_dim index, int64_t number);
gm_status gm_trace_block_end(gm_trace *trace);
gm_status gm_trace_barrier(gm_trace *trace);
void gm_trace_warp(gm_trace *trace, int first_thread, unsigned lanes);
gm_status gm_trace_access(gm_trace *trace, int thread, const gm_trace_call *call);
gm_status gm_trace_sync(gm_trace *trace, int thread, const gm_sync *sync);
gm_status gm_trace_thread_end(gm_trace *trace, int thread);
/* A warp has reached a barrier or its end: its accesses become requests. */
gm_status gm_trace_flush(gm_trace *trace, int warp);

/* ---- for observers ----------------------------------------------------------------------- */

const char *gm_space_name(gm_space space);
/* "load", "store", "prefetch" */
const char *gm_kind_name(gm_kind kind);
const char *gm_actor_name(gm_actor actor);

/* Thread and block by number. */
gm_dim gm_trace_thread(const gm_trace *trace, int number);
gm_dim gm_trace_block_index(const gm_trace *trace, int64_t number);

/* A fault elsewhere than at the access: the place, for a message from gm_fail. */
void gm_trace_place(gm_trace *trace, const char *file, int line, int thread);

/* Shared memory as one run of bytes, the dynamic part first. Keeps addresses modulo 16. */
static inline uintptr_t gm_shared_offset(const gm_trace *trace, uintptr_t address)
{
    uintptr_t dynamic = trace->shared_dynamic.end - trace->shared_dynamic.begin;
    if (address - trace->shared_dynamic.begin < dynamic) {
        return address - trace->shared_dynamic.begin;
    }
    return ((dynamic + 15) & ~(uintptr_t)15) + address -
           (trace->shared_static.begin & ~(uintptr_t)15);
}

/* Which of the word's four bytes lie in [begin, end); the word is at 4 * word. */
static inline unsigned gm_bytes_of_word(uintptr_t word, uintptr_t begin, uintptr_t end)
{
    uintptr_t at = 4 * word;
    unsigned after = begin > at ? 0xFu << (begin - at) : 0xFu;
    unsigned before = end < at + 4 ? 0xFu >> (at + 4 - end) : 0xFu;
    return after & before & 0xFu;
}

#endif
