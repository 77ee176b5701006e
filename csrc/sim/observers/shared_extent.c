/*
 * Observer: which part of the module's __shared__ variables a launch uses, from the lowest address
 * that a warp asked for to the highest. That is the size of the kernel's static shared memory. The
 * variables of a user's kernel are known one by one: together with the dynamic shared memory they
 * may not be more than a block can have.
 */
#include <stdlib.h>

#include "sim/limits.h"
#include "sim/observer.h"

typedef struct extent {
    gm_region used;
    bool *variables; /* which of the module's */
    gm_region last;  /* the variable of the last request */
    uintptr_t bytes; /* of all used variables */
} extent;

static gm_status begin(void *state, gm_trace *trace)
{
    extent *e = state;
    e->used = (gm_region){UINTPTR_MAX, 0};
    e->variables = calloc((size_t)trace->spaces.module->shared_extents.count + 1, 1);
    return e->variables ? GM_OK : gm_fail(GM_ERROR_MEMORY, "out of memory for shared variables");
}

/* Notes the variable at this offset from the module's first. */
static void note_variable(extent *e, gm_extents variables, uintptr_t offset)
{
    if (gm_region_holds(e->last, offset)) {
        return;
    }
    for (int i = 0; i < variables.count; i++) {
        const gm_extent *one = &variables.list[i];
        gm_region region = {one->offset, one->offset + one->bytes};
        if (gm_region_holds(region, offset)) {
            e->last = region;
            e->bytes += e->variables[i] ? 0 : one->bytes;
            e->variables[i] = true;
            return;
        }
    }
}

static gm_status check_bytes(void *state, gm_trace *trace)
{
    extent *e = state;
    gm_region dynamic = trace->spaces.block.shared_dynamic;
    uintptr_t all = e->bytes + dynamic.end - dynamic.begin;
    if (e->bytes > GM_MOST_SHARED_STATIC) {
        return gm_find(GM_RULE_LAUNCH,
                       "the kernel has variables of %llu bytes in shared memory, and a block has "
                       "at most %d that are not dynamic",
                       (unsigned long long)e->bytes, GM_MOST_SHARED_STATIC);
    }
    if (all > GM_MOST_SHARED) {
        return gm_find(GM_RULE_LAUNCH,
                       "the kernel cannot be launched with %llu bytes of shared memory, %llu of "
                       "which its variables have: a block has at most %d",
                       (unsigned long long)all, (unsigned long long)e->bytes, GM_MOST_SHARED);
    }
    return GM_OK;
}

static void add(extent *e, const gm_spaces *spaces, uintptr_t begin, uintptr_t end)
{
    note_variable(e, spaces->module->shared_extents, begin - spaces->block.shared_static.begin);
    uintptr_t first = gm_reported_address(spaces, begin), past = first + (end - begin);
    e->used.begin = first < e->used.begin ? first : e->used.begin;
    e->used.end = past > e->used.end ? past : e->used.end;
}

static gm_status extend(void *state, gm_trace *trace, const gm_request *request, void *counters)
{
    extent *e = state;
    const gm_region variables = trace->spaces.block.shared_static;
    (void)counters;
    if (request->site->actor == GM_BY_ENGINE) {
        return GM_OK;
    }
    if (request->begin >= variables.begin && request->end <= variables.end) {
        add(e, &trace->spaces, request->begin, request->end);
        return GM_OK;
    }
    for (int i = 0; i < request->lanes; i++) {
        uintptr_t first = request->address[i], past = first + request->bytes[i];
        if (first >= variables.begin && past <= variables.end) {
            add(e, &trace->spaces, first, past);
        }
    }
    return GM_OK;
}

static void end(void *state, gm_trace *trace)
{
    extent *e = state;
    (void)trace;
    free(e->variables);
}

static void finish(const void *state, gm_trace_kernel *kernel)
{
    const extent *e = state;
    kernel->shared_used = e->used;
    if (e->used.end > e->used.begin) {
        kernel->shared_bytes += (int64_t)(e->used.end - e->used.begin);
    }
}

const gm_observer gm_observer_shared_extent = {
    .name = "shared extent",
    .state_bytes = sizeof(extent),
    .requests = GM_SEES(GM_SPACE_SHARED),
    .begin = begin,
    .end = end,
    .block_end = check_bytes,
    .request = extend,
    .finish = finish,
};
