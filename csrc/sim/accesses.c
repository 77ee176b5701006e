/* The trace of accesses: who is told of them, at once or as requests, and of which not at all. */
#include "sim/observer.h"
#include "sim/trace.h"

/* ---- accesses ------------------------------------------------------------------------------ */

static gm_status observe_access(gm_trace *trace, int thread, const gm_step *step, bool usual)
{
    const gm_access_call *call = &step->call;
    const gm_subscribers *subscribers =
        usual ? &trace->on_usual[step->space] : &trace->on_access[step->space][call->actor];
    const gm_access access = {call->address, call->bytes, step->site, (uint8_t)(thread % GM_WARP)};
    if (usual && !(trace->loud & GM_SEES(step->space))) {
        return GM_OK;
    }
    if (step->space == GM_SPACE_SHARED && call->kind != GM_LOAD) {
        gm_postponed_stored(trace, call->address, call->bytes);
    }
    trace->thread = thread;
    trace->call = call;
    for (int i = 0; i < subscribers->count; i++) {
        const gm_subscriber *to = &subscribers->list[i];
        if (call->kind == GM_PREFETCH && !(to->observer->accesses & GM_SEES_PREFETCHES)) {
            continue;
        }
        gm_status status = to->observer->access(to->state, trace, &access);
        if (status != GM_OK) {
            return gm_trace_stop(trace, to->observer, &access, status);
        }
    }
    return GM_OK;
}

static bool is_copy(const gm_access_call *call)
{
    return call->actor == GM_BY_ENGINE || call->actor == GM_BY_PIPELINE;
}

/* A copy by an engine or the pipeline: checks between which spaces it is. */
static gm_status check_copy(gm_trace *trace, int thread, gm_space space, const gm_access_call *call)
{
    bool store = call->kind == GM_STORE;
    bool wrong = store && space == GM_SPACE_PRIVATE;
    if (call->actor == GM_BY_PIPELINE) {
        wrong = wrong || space == (store ? GM_SPACE_GLOBAL : GM_SPACE_SHARED);
    }
    if (!wrong) {
        return GM_OK;
    }
    gm_status earlier = gm_postponed_tell(trace);
    if (earlier != GM_OK) {
        return earlier;
    }
    gm_trace_place(trace, call->file, call->line, thread);
    return gm_find(GM_RULE_MISUSE, call->actor == GM_BY_PIPELINE
                                       ? "an asynchronous copy that is not from global to "
                                         "shared memory"
                                       : "a copy to a thread's local variables");
}

/* Which accesses by the call's code are usual. Returns whether this one is. */
static bool find_usual(gm_step *step, gm_region region)
{
    const gm_access_call *call = &step->call;
    uintptr_t size = region.end - region.begin, bytes = call->bytes;
    bool thread = call->actor == GM_BY_THREAD;
    bool aligned = thread && bytes <= 16 && (bytes & (bytes - 1)) == 0;
    bool own = !is_copy(call) && call->kind != GM_PREFETCH && call->strength == GM_PLAIN;
    bool fits = own && size >= bytes;
    step->begin = region.begin;
    step->align = aligned ? bytes - 1 : 0;
    step->span = fits && thread && !call->file ? size - bytes + 1 : 0;
    return fits && call->address - region.begin <= size - bytes && !(call->address & step->align);
}

/* An access that takes part in requests. Copies and what is unusual about shared memory have to
 * find the observers told of what was before. */
static gm_status add_to_stream(gm_trace *trace, int thread, const gm_step *step, bool usual)
{
    gm_warp_stream *stream = trace->stream;
    gm_status status = GM_OK;
    if (is_copy(&step->call) || (step->space == GM_SPACE_SHARED && !usual)) {
        status = gm_postponed_tell(trace);
    } else if (step->space == GM_SPACE_GLOBAL && !usual) {
        status = gm_postponed_tell_global(trace);
    }
    if (!(trace->actors & GM_SEES(step->call.actor))) {
        trace->actors |= GM_SEES(step->call.actor);
        gm_trace_list_access_subscribers(trace);
    }
    if (status == GM_OK && !gm_stream_is_turn(stream, thread)) {
        status = gm_stream_turn(stream, thread);
    }
    return status == GM_OK ? gm_stream_add(stream, step) : status;
}

/* ---- the heap ---------------------------------------------------------------------------------
 */

/* As if the thread wrote all of it, though that is no access that counts: what other threads do
 * there has to be ordered before. */
gm_status gm_trace_freed(gm_trace *trace, int thread, const void *code, gm_region region)
{
    gm_step step = {.call = {.code = code,
                             .address = region.begin,
                             .bytes = (uint32_t)(region.end - region.begin),
                             .kind = GM_STORE,
                             .actor = GM_BY_BYTES}};
    gm_status earlier = gm_postponed_tell(trace); /* of accesses before it */
    if (earlier != GM_OK) {
        return earlier;
    }
    for (gm_trace_block *block = trace->blocks; block; block = block->next) {
        gm_stream_forget(&block->stream, region.begin);
    }
    step.space = gm_spaces_find(&trace->spaces, region.begin, &region);
    if (step.call.bytes == 0 || step.space != GM_SPACE_GLOBAL) {
        return GM_OK;
    }
    int site = gm_sites_find(&trace->sites, trace->spaces.module, step.space, &step.call);
    if (site < 0) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the list of source lines");
    }
    step.site = (uint32_t)site;
    return observe_access(trace, thread, &step, false);
}

/* ---- local variables ------------------------------------------------------------------------ */

/* The first event about local variables makes room for them. */
static gm_locals *locals_of(gm_trace *trace)
{
    gm_trace_block *block = trace->current;
    if (!block->locals && !(block->locals = gm_locals_create(trace->block_threads))) {
        gm_fail(GM_ERROR_MEMORY, "out of memory for local variables");
    }
    return block->locals;
}

gm_status gm_trace_local(gm_trace *trace, int thread, uintptr_t address, size_t bytes,
                         gm_local what)
{
    gm_locals *locals = locals_of(trace);
    trace->aside = (gm_region){0, 0};
    if (locals && what == GM_LOCAL_GUARD_END) {
        gm_locals_end_guard(locals, thread, address);
        return GM_OK;
    }
    return locals ? gm_locals_add(locals, thread, address, bytes, what) : GM_ERROR_MEMORY;
}

gm_status gm_trace_function(gm_trace *trace, int thread, bool begins)
{
    gm_locals *locals = locals_of(trace);
    if (locals && begins) {
        gm_locals_function_begins(locals, thread);
    } else if (locals) {
        gm_locals_function_ends(locals, thread);
    }
    return locals ? GM_OK : GM_ERROR_MEMORY;
}

/* The site that a message about a private access names; NULL when memory ran out. */
static const gm_site *private_site(gm_trace *trace, const gm_access_call *call)
{
    int at = gm_sites_find(&trace->sites, trace->spaces.module, GM_SPACE_PRIVATE, call);
    if (at < 0) {
        gm_fail(GM_ERROR_MEMORY, "out of memory for the list of source lines");
    }
    return at < 0 ? NULL : &trace->sites.list[at];
}

static gm_status beside_array(gm_trace *trace, int thread, const gm_access_call *call)
{
    const gm_site *site = private_site(trace, call);
    if (!site) {
        return GM_ERROR_MEMORY;
    }
    gm_trace_place(trace, site->file, site->line, thread);
    return gm_find(GM_RULE_OUT_OF_BOUNDS, "%s of %u bytes out of bounds of a local array",
                   gm_kind_name(call->kind), call->bytes);
}

static gm_status access_local(gm_trace *trace, int thread, gm_locals *locals,
                              const gm_access_call *call)
{
    if (gm_locals_guarded(locals, call->address, call->bytes)) {
        gm_status status = gm_trace_uses_all(trace);
        return status == GM_OK ? beside_array(trace, thread, call) : status;
    }
    if (call->kind != GM_LOAD) {
        gm_locals_write(locals, call->address, call->bytes);
        return GM_OK;
    }
    if (!gm_locals_unwritten(locals, call->address, call->bytes)) {
        return GM_OK; /* of a structure some bytes may be padding */
    }
    const gm_site *site = private_site(trace, call);
    if (!site) {
        return GM_ERROR_MEMORY;
    }
    gm_status status = call->address == trace->unset.address ? GM_OK : gm_trace_uses_all(trace);
    trace->unset = (gm_unset){call->address, call->bytes, thread, site->file, site->line};
    return status;
}

gm_status gm_trace_fail_unset(gm_trace *trace, const gm_unset *unset)
{
    const gm_unset found = *unset;
    gm_status earlier = gm_postponed_tell(trace);
    if (earlier != GM_OK) {
        return earlier;
    }
    trace->unset.bytes = 0;
    gm_locals_write(trace->current->locals, found.address, found.bytes); /* says so once */
    gm_trace_place(trace, found.file, found.line, found.thread);
    return gm_trace_keep(trace,
                         gm_find(GM_RULE_UNINITIALISED,
                                 "load of %u bytes of a local variable that nothing has written: "
                                 "uninitialised",
                                 found.bytes));
}

/* ---- every access ---------------------------------------------------------------------------- */

gm_status gm_trace_access(gm_trace *trace, int thread, const gm_access_call *call)
{
    gm_step step;
    gm_region region;
    gm_status status = GM_OK;
    step.call = *call;
    step.space = gm_spaces_find(&trace->spaces, call->address, &region);
    if (is_copy(call)) {
        status = check_copy(trace, thread, step.space, call);
    }
    if (step.space == GM_SPACE_PRIVATE && status == GM_OK && trace->current->locals &&
        gm_locals_any(trace->current->locals)) {
        return access_local(trace, thread, trace->current->locals, call);
    }
    if (step.space == GM_SPACE_PRIVATE || status != GM_OK) {
        trace->aside = step.space == GM_SPACE_PRIVATE ? region : trace->aside;
        return status;
    }
    if ((status = gm_trace_uses_all(trace)) != GM_OK) {
        return status;
    }
    int site = gm_sites_find(&trace->sites, trace->spaces.module, step.space, call);
    if (site < 0) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the list of source lines");
    }
    step.site = (uint32_t)site;
    step.global = trace->spaces.last_global;
    bool usual = find_usual(&step, region);
    if (call->kind != GM_PREFETCH) {
        status = add_to_stream(trace, thread, &step, usual);
    }
    return status == GM_OK ? observe_access(trace, thread, &step, usual) : status;
}

gm_status gm_trace_repeated(gm_trace *trace, int thread, gm_step *step, uintptr_t address)
{
    if (step->space == GM_SPACE_GLOBAL) {
        trace->spaces.last_global = step->global;
    }
    step->call.address = address;
    return observe_access(trace, thread, step, true);
}

static __attribute__((noinline)) gm_status access_anew(gm_trace *trace, int thread,
                                                       const void *code, uintptr_t address,
                                                       uint32_t bytes, gm_kind kind)
{
    gm_access_call call = {.code = code, .address = address, .bytes = bytes, .kind = kind};
    return gm_trace_access(trace, thread, &call);
}

gm_status gm_trace_own_access(gm_trace *trace, int thread, const void *code, uintptr_t address,
                              uint32_t bytes, gm_kind kind)
{
    gm_warp_stream *stream = trace->stream;
    if (gm_trace_ignores(trace, address)) {
        return GM_OK;
    }
    if (trace->unset.bytes) {
        return access_anew(trace, thread, code, address, bytes, kind);
    }
    if (!gm_stream_is_turn(stream, thread)) {
        gm_status status = gm_stream_turn(stream, thread);
        if (status != GM_OK) {
            return status;
        }
    }
    gm_step *next = stream->next;
    bool alike = next < stream->past && next->call.bytes == bytes && next->call.kind == kind;
    if (!alike || !gm_stream_repeat(stream, code, address)) {
        return access_anew(trace, thread, code, address, bytes, kind);
    }
    return gm_trace_repeated(trace, thread, next, address);
}

/* ---- requests ----------------------------------------------------------------------------- */

/* Has the observers count that go by the shape, unless what they count of it is known. */
static gm_status count_shape(gm_trace *trace, const gm_request *request)
{
    const gm_site *site = request->site;
    const gm_subscribers *subscribers = &trace->on_shape[site->space];
    gm_shape *shape = request->shape;
    gm_status status = GM_OK;
    int64_t *counter[GM_COUNTED], before[GM_COUNTED];
    for (int i = 0; shape && i < trace->counted_count; i++) {
        counter[i] = (int64_t *)(void *)(site->counters + trace->counted[i]);
        before[i] = *counter[i];
    }
    for (int i = 0; i < subscribers->count && status == GM_OK; i++) {
        const gm_subscriber *to = &subscribers->list[i];
        status = to->observer->request(to->state, trace, request, site->counters + to->counters);
    }
    for (int i = 0; shape && i < trace->counted_count; i++) {
        shape->counts[i] = *counter[i] - before[i];
    }
    if (shape) {
        shape->counted = status == GM_OK && shape->phase < GM_PERIOD;
    }
    return status;
}

static void add_counts(const gm_trace *trace, const gm_request *request)
{
    char *counters = request->site->counters;
    for (int i = 0; i < trace->counted_count; i++) {
        *(int64_t *)(void *)(counters + trace->counted[i]) += request->shape->counts[i];
    }
}

static gm_status observe_request(void *context, gm_request *request)
{
    gm_trace *trace = context;
    gm_site *site = request->site;
    gm_status status = GM_OK;
    if ((int)request->widest > site->width) {
        site->width = (int)request->widest;
    }
    if (site->space == GM_SPACE_SHARED && trace->current->postponed.on) {
        gm_postponed_check(trace, request);
    }
    if (request->shape && request->shape->counted) {
        add_counts(trace, request);
    } else {
        status = count_shape(trace, request);
    }
    const gm_subscribers *subscribers = &trace->on_request[site->space];
    for (int i = 0; i < subscribers->count && status == GM_OK; i++) {
        const gm_subscriber *to = &subscribers->list[i];
        status = to->observer->request(to->state, trace, request, site->counters + to->counters);
    }
    trace->request_number++;
    return status;
}

gm_status gm_trace_flush(gm_trace *trace, int warp)
{
    gm_status status = gm_stream_end(trace->stream);
    trace->warp = warp;
    if (status == GM_OK) {
        status = trace->warp_status;
    }
    if (status == GM_OK) {
        status = gm_requests_form(trace->stream, &trace->sites, observe_request, trace);
    }
    if (status == GM_OK) {
        status = gm_postponed_flush(trace);
    }
    gm_stream_clear(trace->stream);
    gm_postponed_batch(trace);
    return status;
}
