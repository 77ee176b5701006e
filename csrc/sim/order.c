/* Fences and strong accesses in a trace: what they hand on from thread to thread. */
#include "sim/trace.h"

static gm_status out_of_memory(void)
{
    return gm_fail(GM_ERROR_MEMORY, "out of memory for what threads hand on by atomic operations");
}

static gm_reach reach_of(gm_scope scope)
{
    return scope == GM_SCOPE_BLOCK ? GM_IN_BLOCK : GM_IN_GRID;
}

gm_status gm_trace_fence(gm_trace *trace, int thread, gm_order order, gm_scope scope)
{
    if (order == GM_ORDER_RELAXED) {
        return GM_OK;
    }
    gm_status status = gm_postponed_tell(trace);
    if (status == GM_OK) {
        status = gm_clock_fence(trace->clock, thread, reach_of(scope), order != GM_ORDER_ACQUIRE);
    }
    return status;
}

/* An atomic operation learns at once, even a relaxed one: locks are often taken without a fence
 * behind. A volatile load does not: the compiler may move plain loads before it. */
static gm_status take(gm_trace *trace, int thread, const gm_release *from,
                      const gm_access_call *call)
{
    gm_view *views[GM_REACHES] = {
        [GM_IN_BLOCK] = from->block_number == trace->block_number ? from->block : NULL,
        [GM_IN_GRID] = call->scope == GM_SCOPE_BLOCK ? NULL : from->device,
    };
    gm_status status = GM_OK;
    for (int reach = 0; reach < GM_REACHES && status == GM_OK; reach++) {
        if (views[reach] && call->strength == GM_VOLATILE) {
            status = gm_clock_see(trace->clock, thread, (gm_reach)reach, views[reach]);
        } else if (views[reach]) {
            status = gm_clock_learn(trace->clock, thread, views[reach]);
        }
    }
    return status;
}

/* An update adds to what was handed on before; a store replaces it. */
static gm_status give(gm_trace *trace, gm_release *to, gm_kind kind,
                      gm_view *const views[GM_REACHES])
{
    if (kind == GM_STORE) {
        gm_release_clear(to);
    } else if (to->block_number != trace->block_number) {
        gm_view_drop(to->block);
        to->block = NULL;
    }
    to->block_number = trace->block_number;
    bool ok = gm_view_join(&to->block, views[GM_IN_BLOCK], trace->block_threads) &&
              gm_view_join(&to->device, views[GM_IN_GRID], trace->block_threads);
    return ok ? GM_OK : out_of_memory();
}

static gm_status give_released(gm_trace *trace, int thread, const gm_access_call *call,
                               gm_releases *releases)
{
    gm_view *views[GM_REACHES] = {NULL};
    gm_status status = GM_OK;
    for (int r = 0; r <= (int)reach_of(call->scope) && status == GM_OK; r++) {
        status = gm_clock_released(trace->clock, thread, (gm_reach)r, &views[r]);
    }
    gm_release *to = gm_releases_find(releases, call->address);
    if (status == GM_OK && (to || views[GM_IN_BLOCK] || views[GM_IN_GRID])) {
        to = gm_releases_make(releases, call->address);
        status = to ? give(trace, to, call->kind, views) : out_of_memory();
    }
    for (int r = 0; r < GM_REACHES; r++) {
        gm_view_drop(views[r]);
    }
    return status;
}

gm_status gm_trace_hand_over(gm_trace *trace, int thread, const gm_access_call *call,
                             gm_order order)
{
    gm_region region;
    gm_space space = gm_spaces_find(&trace->spaces, call->address, &region);
    gm_releases *releases = space == GM_SPACE_SHARED ? &trace->current->releases : &trace->releases;
    gm_status status = GM_OK;
    if (space != GM_SPACE_SHARED && space != GM_SPACE_GLOBAL &&
        call->address != (uintptr_t)&trace->grid_barrier) {
        return GM_OK;
    }
    if (order != GM_ORDER_RELAXED) {
        status = gm_trace_fence(trace, thread, order, call->scope);
    }
    const gm_release *from =
        call->kind == GM_STORE ? NULL : gm_releases_find(releases, call->address);
    if (from && status == GM_OK) {
        status = gm_postponed_tell(trace);
    }
    if (from && status == GM_OK) {
        status = take(trace, thread, from, call);
    }
    if (call->kind != GM_LOAD && status == GM_OK) {
        status = give_released(trace, thread, call, releases);
    }
    return status;
}
