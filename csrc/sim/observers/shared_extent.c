/*
 * Observer: which part of the module's __shared__ variables a launch uses, from the lowest address
 * that a warp asked for to the highest. That is the size of the kernel's static shared memory.
 */
#include "sim/observer.h"

typedef struct extent {
    gm_region used;
} extent;

static gm_status begin(void *state, gm_trace *trace)
{
    extent *e = state;
    (void)trace;
    e->used = (gm_region){UINTPTR_MAX, 0};
    return GM_OK;
}

static void add(extent *e, const gm_spaces *spaces, uintptr_t begin, uintptr_t end)
{
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
    .request = extend,
    .finish = finish,
};
