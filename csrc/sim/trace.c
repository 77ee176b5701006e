/* The trace: keeps what a launch is about, and calls the observers. */
#include "sim/trace.h"

#include <stdlib.h>
#include <string.h>

#include "sim/observer.h"

/* ---- observers' view ----------------------------------------------------------------------- */

gm_dim gm_trace_thread(const gm_trace *trace, int number)
{
    unsigned n = (unsigned)number, x = trace->block.x, y = trace->block.y;
    return (gm_dim){n % x, n / x % y, n / x / y};
}

gm_dim gm_trace_block_index(const gm_trace *trace, int64_t number)
{
    int64_t x = trace->grid.x, y = trace->grid.y;
    return (gm_dim){(unsigned)(number % x), (unsigned)(number / x % y), (unsigned)(number / x / y)};
}

void gm_trace_place(gm_trace *trace, const char *file, int line, int thread)
{
    trace->fault.file = file;
    trace->fault.line = line;
    trace->fault.thread = thread;
}

/* Where the counters of the i-th observer lie among those of a site; of one past the last: how many
 * bytes they take. */
static size_t counter_offset(int index)
{
    size_t offset = 0;
    for (int i = 0; i < index; i++) {
        offset += (gm_observers[i]->counter_bytes + 15) & ~(size_t)15;
    }
    return offset;
}

void *gm_observer_counters(const gm_observer *observer, const gm_site *site)
{
    int index = 0;
    while (gm_observers[index] != observer) {
        index++;
    }
    return site->counters + counter_offset(index);
}

/* ---- a launch ------------------------------------------------------------------------------ */

gm_trace *gm_trace_create(void)
{
    gm_trace *trace = calloc(1, sizeof(gm_trace));
    if (trace) {
        trace->sites.counter_bytes = counter_offset(GM_OBSERVERS);
    }
    return trace;
}

void gm_trace_destroy(gm_trace *trace)
{
    if (!trace) {
        return;
    }
    gm_trace_end(trace);
    for (int i = 0; i < GM_OBSERVERS; i++) {
        for (int s = 0; gm_observers[i]->free_counters && s < trace->sites.count; s++) {
            gm_observers[i]->free_counters(trace->sites.list[s].counters + counter_offset(i));
        }
    }
    gm_sites_free(&trace->sites);
    free(trace->kernels);
    free(trace);
}

static void add_subscriber(gm_subscribers *to, gm_subscriber subscriber)
{
    to->list[to->count++] = subscriber;
}

static void forget_access_subscribers(gm_trace *trace)
{
    for (int space = 0; space < GM_SPACES; space++) {
        trace->on_usual[space].count = 0;
        for (int actor = 0; actor < GM_ACTORS; actor++) {
            trace->on_access[space][actor].count = 0;
        }
    }
}

/* Lists who sees accesses, given who has made any so far. */
static void subscribe_to_accesses(gm_trace *trace)
{
    forget_access_subscribers(trace);
    trace->may_postpone = true;
    for (int i = 0; i < trace->all.count * GM_SPACES; i++) {
        const gm_subscriber *subscriber = &trace->all.list[i / GM_SPACES];
        const gm_observer *observer = subscriber->observer;
        int space = i % GM_SPACES;
        if (!(observer->accesses & GM_SEES(space)) ||
            (observer->after && !(observer->after & trace->actors))) {
            continue;
        }
        for (int actor = 0; actor < GM_ACTORS; actor++) {
            if (!observer->actors || observer->actors & GM_SEES(actor)) {
                add_subscriber(&trace->on_access[space][actor], *subscriber);
            }
        }
        if (!observer->unusual && (!observer->actors || observer->actors & GM_SEES(GM_BY_THREAD))) {
            add_subscriber(&trace->on_usual[space], *subscriber);
            trace->may_postpone &= space != GM_SPACE_SHARED || observer->clean;
        }
    }
}

static gm_status subscribe(gm_trace *trace, const gm_observer *observer)
{
    gm_subscriber subscriber = {
        .observer = observer,
        .state = calloc(1, observer->state_bytes + 1),
        .counters = counter_offset(trace->all.count),
    };
    if (!subscriber.state) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the observers of a kernel");
    }
    add_subscriber(&trace->all, subscriber);
    for (int space = 0; space < GM_SPACES; space++) {
        if (observer->requests & GM_SEES(space)) {
            add_subscriber(&trace->on_request[space], subscriber);
        }
    }
    if (observer->thread_end) {
        add_subscriber(&trace->on_thread_end, subscriber);
    }
    return observer->begin ? observer->begin(subscriber.state, trace) : GM_OK;
}

gm_status gm_trace_begin(gm_trace *trace, const gm_trace_launch *launch)
{
    trace->grid = launch->grid;
    trace->block = launch->block;
    trace->block_threads = (int)(launch->block.x * launch->block.y * launch->block.z);
    trace->spaces = (gm_spaces){
        .module = launch->module,
        .arguments = {(uintptr_t)launch->args, (uintptr_t)launch->args + launch->args_size},
    };
    gm_trace_place(trace, NULL, 0, -1);
    gm_status status = gm_spaces_open(&trace->spaces, launch->shared_bytes);
    for (int i = 0; i < GM_OBSERVERS && status == GM_OK; i++) {
        status = subscribe(trace, gm_observers[i]);
    }
    trace->actors = 0;
    subscribe_to_accesses(trace);
    return status;
}

gm_status gm_trace_finish(gm_trace *trace, gm_trace_kernel kernel)
{
    size_t count = (size_t)trace->kernel_count;
    gm_trace_kernel *kernels = realloc(trace->kernels, (count + 1) * sizeof *kernels);
    if (!kernels) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the kernels of a call");
    }
    for (int i = 0; i < trace->all.count; i++) {
        const gm_subscriber *to = &trace->all.list[i];
        if (to->observer->finish) {
            to->observer->finish(to->state, &kernel);
        }
    }
    kernels[count] = kernel;
    trace->kernels = kernels;
    trace->kernel_count++;
    return GM_OK;
}

static void free_block(gm_trace_block *block)
{
    for (int i = 0; i < GM_OBSERVERS; i++) {
        if (block->states[i] && gm_observers[i]->free_block) {
            gm_observers[i]->free_block(block->states[i]);
        }
        free(block->states[i]);
    }
    gm_postponed_free(&block->postponed);
    gm_clock_destroy(block->clock);
    gm_stream_free(&block->stream);
    free(block);
}

void gm_trace_end(gm_trace *trace)
{
    while (trace->blocks) {
        gm_trace_block *block = trace->blocks;
        trace->blocks = block->next;
        free_block(block);
    }
    trace->current = NULL;
    trace->stream = NULL;
    trace->clock = NULL;
    for (int i = 0; i < trace->all.count; i++) {
        const gm_subscriber *subscriber = &trace->all.list[i];
        if (subscriber->observer->end) {
            subscriber->observer->end(subscriber->state, trace);
        }
        free(subscriber->state);
    }
    trace->all.count = trace->on_thread_end.count = 0;
    for (int space = 0; space < GM_SPACES; space++) {
        trace->on_request[space].count = 0;
    }
    forget_access_subscribers(trace);
    gm_releases_free(&trace->releases);
    gm_spaces_close(&trace->spaces);
}

/* ---- events ------------------------------------------------------------------------------- */

/* Calls a hook of those observers that have it, up to the first fault. */
#define NOTIFY(subscribers, status, hook, ...)                                                     \
    for (int i_ = 0; i_ < (subscribers).count && (status) == GM_OK; i_++) {                        \
        const gm_subscriber *to_ = &(subscribers).list[i_];                                        \
        if (to_->observer->hook) {                                                                 \
            (status) = to_->observer->hook(to_->state, __VA_ARGS__);                               \
        }                                                                                          \
    }

static gm_trace_block *make_block(gm_trace *trace)
{
    gm_trace_block *block = calloc(1, sizeof *block);
    bool made = block && (block->clock = gm_clock_create(trace->block_threads));
    for (int i = 0; i < GM_OBSERVERS && made; i++) {
        size_t bytes = gm_observers[i]->block_bytes;
        made = !bytes || (block->states[i] = calloc(1, bytes));
    }
    if (!made) {
        gm_fail(GM_ERROR_MEMORY, "out of memory for the trace of a block");
        if (block) {
            free_block(block);
        }
        return NULL;
    }
    block->next = trace->blocks;
    trace->blocks = block;
    return block;
}

gm_status gm_trace_block_open(gm_trace *trace, gm_dim index, int64_t number,
                              gm_region shared_dynamic, const gm_fiber_pool *stacks)
{
    gm_status status = GM_OK;
    gm_trace_block *block = trace->blocks;
    while (block && block->open) {
        block = block->next;
    }
    if (!block && !(block = make_block(trace))) {
        return GM_ERROR_MEMORY;
    }
    block->open = true;
    block->index = index;
    block->number = number;
    gm_block_memory memory = gm_spaces_of_block(trace->spaces.module, shared_dynamic, stacks);
    if (memcmp(&block->memory, &memory, sizeof memory) == 0) {
        gm_stream_clear(&block->stream);
    } else {
        gm_stream_reset(&block->stream);
    }
    block->memory = memory;
    gm_clock_block(block->clock, number);
    gm_trace_block_select(trace, block);
    gm_postponed_block(trace);
    NOTIFY(trace->all, status, block, trace);
    return status;
}

void gm_trace_block_select(gm_trace *trace, gm_trace_block *block)
{
    trace->current = block;
    trace->block_index = block->index;
    trace->block_number = block->number;
    trace->clock = block->clock;
    trace->stream = &block->stream;
    trace->spaces.block = block->memory;
    trace->aside = (gm_region){0, 0};
    trace->silent = block->postponed.on ? GM_SPACE_SHARED : GM_SPACES;
}

void gm_trace_postpone(gm_trace *trace, bool on)
{
    trace->current->postponed.on = on && trace->may_postpone;
    trace->silent = trace->current->postponed.on ? GM_SPACE_SHARED : GM_SPACES;
}

gm_status gm_trace_block_close(gm_trace *trace)
{
    gm_status status = GM_OK;
    NOTIFY(trace->all, status, block_end, trace);
    trace->current->open = false;
    return status;
}

gm_status gm_trace_barrier(gm_trace *trace)
{
    gm_status status = gm_clock_barrier(trace->clock);
    NOTIFY(trace->all, status, barrier, trace);
    gm_postponed_barrier(trace);
    return status;
}

void gm_trace_warp(gm_trace *trace, int first_thread, unsigned lanes)
{
    trace->warp_status = gm_clock_warp(trace->clock, first_thread, lanes);
}

gm_status gm_trace_thread_end(gm_trace *trace, int thread)
{
    gm_status status = GM_OK;
    trace->thread = thread;
    NOTIFY(trace->on_thread_end, status, thread_end, trace);
    return status;
}

gm_status gm_trace_sync(gm_trace *trace, int thread, const gm_sync *sync)
{
    gm_status status = gm_postponed_tell(trace);
    if (status != GM_OK) {
        return status;
    }
    trace->thread = thread;
    /* Observers before the clock: what a thread learns by waiting does not entitle it to wait. */
    NOTIFY(trace->all, status, sync, trace, sync);
    if (status == GM_ERROR_SIMULATION && trace->fault.thread < 0) {
        gm_trace_place(trace, sync->file, sync->line, thread);
    }
    if (status != GM_OK) {
        return status;
    }
    switch (sync->kind) {
    case GM_MBARRIER_INIT: gm_clock_forget(trace->clock, sync->mbarrier); return GM_OK;
    case GM_MBARRIER_ARRIVE: return gm_clock_arrive(trace->clock, thread, sync->mbarrier);
    case GM_MBARRIER_PHASE: gm_clock_phase(trace->clock, sync->mbarrier); return GM_OK;
    case GM_MBARRIER_WAIT: return gm_clock_wait(trace->clock, thread, sync->mbarrier);
    default: return GM_OK;
    }
}

/* ---- accesses ------------------------------------------------------------------------------ */

/* Another observer may know of an earlier cause, or may not have been asked yet. */
gm_status gm_trace_stop(gm_trace *trace, const gm_observer *by, const gm_access *at,
                        gm_status status)
{
    if (gm_postponed_tell(trace) != GM_OK) {
        return gm_last_error()->status;
    }
    if (status == GM_ERROR_SIMULATION && trace->fault.thread < 0) {
        const gm_site *site = &trace->sites.list[at->site];
        gm_trace_place(trace, site->file, site->line, trace->thread);
    }
    gm_status earlier = GM_OK;
    if (status == GM_ERROR_SIMULATION && !by->about_order) {
        NOTIFY(trace->all, earlier, stopped, trace);
    }
    return earlier != GM_OK ? earlier : status;
}

static gm_status observe_access(gm_trace *trace, int thread, const gm_step *step, bool usual)
{
    const gm_access_call *call = &step->call;
    const gm_subscribers *subscribers =
        usual ? &trace->on_usual[step->space] : &trace->on_access[step->space][call->actor];
    const gm_access access = {call->address, call->bytes, step->site, (uint8_t)(thread % GM_WARP)};
    if (usual && step->space == trace->silent) {
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
    gm_trace_place(trace, call->file, call->line, thread);
    return gm_fail(GM_ERROR_SIMULATION, call->actor == GM_BY_PIPELINE
                                            ? "an asynchronous copy that is not from global to "
                                              "shared memory"
                                            : "a copy to a thread's local variables");
}

/* Which accesses by the call's code are usual. Returns whether this one is. */
static bool find_usual(gm_step *step, gm_region region)
{
    const gm_access_call *call = &step->call;
    uintptr_t size = region.end - region.begin, bytes = call->bytes;
    bool power_of_two = bytes <= 16 && (bytes & (bytes - 1)) == 0;
    bool own = call->actor == GM_BY_THREAD && call->kind != GM_PREFETCH &&
               call->strength == GM_PLAIN;
    bool fits = own && size >= bytes;
    step->begin = region.begin;
    step->align = power_of_two ? bytes - 1 : 0;
    step->span = fits && !call->file ? size - bytes + 1 : 0;
    return fits && call->address - region.begin <= size - bytes && !(call->address & step->align);
}

/* An access that takes part in requests. Copies and what is unusual about shared memory have to
 * find the observers told of what was before. */
static gm_status add_to_stream(gm_trace *trace, int thread, const gm_step *step, bool usual)
{
    gm_warp_stream *stream = trace->stream;
    gm_status status = GM_OK;
    if (step->call.actor != GM_BY_THREAD || (step->space == GM_SPACE_SHARED && !usual)) {
        status = gm_postponed_tell(trace);
    }
    if (!(trace->actors & GM_SEES(step->call.actor))) {
        trace->actors |= GM_SEES(step->call.actor);
        subscribe_to_accesses(trace);
    }
    if (status == GM_OK && stream->thread != thread) {
        status = gm_stream_turn(stream, thread);
    }
    return status == GM_OK ? gm_stream_add(stream, step) : status;
}

gm_status gm_trace_access(gm_trace *trace, int thread, const gm_access_call *call)
{
    gm_step step;
    gm_region region;
    gm_status status = GM_OK;
    step.call = *call;
    step.space = gm_spaces_find(&trace->spaces, call->address, &region);
    if (call->actor == GM_BY_ENGINE || call->actor == GM_BY_PIPELINE) {
        status = check_copy(trace, thread, step.space, call);
    }
    if (step.space == GM_SPACE_PRIVATE || status != GM_OK) {
        trace->aside = step.space == GM_SPACE_PRIVATE ? region : trace->aside;
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

/* step: which the access repeats; NULL: none, as far as is known. */
gm_status gm_trace_unsilent_access(gm_trace *trace, int thread, const gm_step *step,
                                   const void *code, uintptr_t address, uint32_t bytes,
                                   gm_kind kind)
{
    gm_warp_stream *stream = trace->stream;
    if (!step && (gm_region_holds(trace->spaces.block.lane, address) ||
                  gm_region_holds(trace->aside, address))) {
        return GM_OK;
    }
    if (!step && stream->thread != thread) {
        gm_status status = gm_stream_turn(stream, thread);
        if (status != GM_OK) {
            return status;
        }
        step = gm_stream_repeat(stream, code, address, bytes, kind);
    }
    if (!step) {
        gm_access_call call = {.code = code, .address = address, .bytes = bytes, .kind = kind};
        return gm_trace_access(trace, thread, &call);
    }
    if (step->space == GM_SPACE_GLOBAL) {
        trace->spaces.last_global = step->global;
    }
    return observe_access(trace, thread, step, true);
}

/* ---- requests ----------------------------------------------------------------------------- */

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
    return status;
}
