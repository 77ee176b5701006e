/*
 * The access stream: every memory access of a traced kernel, rebuilt into warp requests.
 *
 * Observers subscribe to it and know nothing of each other. An observer sees each access as
 * it happens (and may stop the kernel), and each request once a warp has issued it whole.
 */
#ifndef GPUMEM_TRACE_H
#define GPUMEM_TRACE_H

#include "gpumem.h"
#include "sim/fiber.h"
#include "sim/hooks.h"
#include "sim/memory.h"

typedef enum gm_space {
    GM_SPACE_GLOBAL,
    GM_SPACE_SHARED,
    GM_SPACE_UNKNOWN, /* in no allocation: always an error */
    GM_SPACE_PRIVATE, /* stack and arguments: not observed */
} gm_space;

/* Where in the source an access stands; several program counters may share a line. */
typedef struct gm_site {
    const void *address; /* return address of the call that the compiler put before it */
    const char *file;
    int line;
    gm_space space;
    gm_kind kind;
    int width; /* bytes, the widest seen */
    int64_t requests, lanes, bytes, sectors, lines;
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
} gm_request;

struct gm_trace {
    /* The result. */
    gm_dim grid, block;
    int64_t shared_bytes, threads, warps, barriers;
    gm_site *sites;
    int site_count;

    /* While a launch runs. */
    int site_room;
    int32_t *table; /* hash of (address, space, kind) to site + 1 */
    int table_size;
    gm_region *regions;
    int region_count, last_region;
    gm_region shared_static, shared_dynamic, arguments, lane, image;
    const gm_fiber_pool *stacks;
    gm_access *stream; /* of one warp, since its last barrier */
    int64_t stream_count, stream_room;
};

typedef struct gm_trace_launch {
    const void *args;
    size_t args_size;
    void *shared_dynamic;
    size_t shared_bytes;
    const gm_fiber_pool *stacks;
} gm_trace_launch;

/* One access as the kernel makes it. With file NULL the code address tells the line. */
typedef struct gm_trace_call {
    const void *code;
    uintptr_t address;
    uint32_t bytes;
    gm_kind kind;
    const char *file;
    int line;
} gm_trace_call;

typedef struct gm_observer {
    const char *name;
    /* Each access at once; a status other than GM_OK stops the kernel there. */
    gm_status (*access)(const gm_trace *trace, const gm_access *access);
    void (*request)(const gm_request *request);
} gm_observer;

extern const gm_observer gm_bounds_observer, gm_sectors_observer;

gm_trace *gm_trace_create(void);
void gm_trace_destroy(gm_trace *trace);

gm_status gm_trace_begin(gm_trace *trace, const gm_trace_launch *launch);
void gm_trace_end(gm_trace *trace);
gm_status gm_trace_access(gm_trace *trace, unsigned lane, const gm_trace_call *call);
/* A warp has reached a barrier or its end: its accesses become requests. */
gm_status gm_trace_flush(gm_trace *trace);

const char *gm_space_name(gm_space space);

#endif
