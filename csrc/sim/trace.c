/* The trace: keeps what a launch is about, and calls the observers. */
#include "sim/trace.h"

#include <stdlib.h>
#include <string.h>

#include "sim/observer.h"

/* ---- observers' view ----------------------------------------------------------------------- */

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

static gm_status subscribe(gm_trace *trace, int index)
{
    const gm_observer *observer = gm_observers[index];
    gm_subscriber subscriber = {
        .observer = observer,
        .state = calloc(1, observer->state_bytes + 1),
        .counters = counter_offset(index),
    };
    if (!subscriber.state) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the observers of a kernel");
    }
    gm_subscribers_add(&trace->all, subscriber);
    for (int space = 0; space < GM_SPACES; space++) {
        if (observer->requests & GM_SEES(space)) {
            gm_subscribers *to = observer->by_shape ? trace->on_shape : trace->on_request;
            gm_subscribers_add(&to[space], subscriber);
        }
    }
    for (int i = 0; observer->by_shape && i < GM_COUNTERS && observer->counters[i].name; i++) {
        trace->counted[trace->counted_count++] = subscriber.counters + observer->counters[i].offset;
    }
    if (observer->thread_end) {
        gm_subscribers_add(&trace->on_thread_end, subscriber);
    }
    return observer->begin ? observer->begin(subscriber.state, trace) : GM_OK;
}

gm_status gm_trace_begin(gm_trace *trace, const gm_trace_launch *launch)
{
    trace->grid = launch->grid;
    trace->block = launch->block;
    trace->early = launch->early;
    trace->block_threads = (int)(launch->block.x * launch->block.y * launch->block.z);
    trace->spaces = (gm_spaces){
        .module = launch->module,
        .arguments = {(uintptr_t)launch->args, (uintptr_t)launch->args + launch->args_size},
    };
    gm_trace_place(trace, NULL, 0, -1);
    gm_status status = gm_spaces_open(&trace->spaces, launch->shared_bytes);
    for (int i = 0; i < GM_OBSERVERS && status == GM_OK; i++) {
        if (launch->early || !gm_observers[i]->early) {
            status = subscribe(trace, i);
        }
    }
    trace->actors = 0;
    gm_trace_list_access_subscribers(trace);
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
    gm_locals_destroy(block->locals);
    gm_releases_free(&block->releases);
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
        trace->on_request[space].count = trace->on_shape[space].count = 0;
    }
    trace->counted_count = 0;
    gm_trace_forget_access_subscribers(trace);
    gm_releases_free(&trace->releases);
    gm_spaces_close(&trace->spaces);
}

/* ---- events ------------------------------------------------------------------------------- */

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
    trace->unset.bytes = 0;
    block->index = index;
    block->number = number;
    gm_block_memory memory = gm_spaces_of_block(trace->spaces.module, shared_dynamic, stacks);
    if (memcmp(&block->memory, &memory, sizeof memory) == 0) {
        gm_stream_clear(&block->stream);
    } else {
        gm_stream_reset(&block->stream);
    }
    block->memory = memory;
    if (block->locals) {
        gm_locals_clear(block->locals);
    }
    gm_clock_block(block->clock, number);
    gm_releases_free(&block->releases);
    gm_trace_block_select(trace, block);
    gm_postponed_block(trace);
    GM_NOTIFY(trace->all, status, block, trace);
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
    gm_trace_list_loud(trace);
}

gm_status gm_trace_block_close(gm_trace *trace)
{
    gm_status status = GM_OK;
    GM_NOTIFY(trace->all, status, block_end, trace);
    trace->current->open = false;
    return status;
}

gm_status gm_trace_barrier(gm_trace *trace)
{
    gm_status status = gm_clock_barrier(trace->clock);
    GM_NOTIFY(trace->all, status, barrier, trace);
    gm_postponed_barrier(trace);
    return status;
}

void gm_trace_warp(gm_trace *trace, int first_thread, unsigned lanes)
{
    trace->warp_status = gm_clock_warp(trace->clock, first_thread, lanes);
}

gm_status gm_trace_thread_end(gm_trace *trace, int thread)
{
    gm_status status = gm_trace_uses_all(trace);
    trace->thread = thread;
    if (trace->current->locals) {
        gm_locals_thread_ends(trace->current->locals, thread);
    }
    GM_NOTIFY(trace->on_thread_end, status, thread_end, trace);
    return status;
}

gm_status gm_trace_sync(gm_trace *trace, int thread, const gm_sync *sync)
{
    if (sync->kind == GM_PREVIOUS_WAIT && !trace->early) {
        return GM_OK;
    }
    gm_status status = gm_trace_uses_all(trace);
    status = status == GM_OK ? gm_postponed_tell(trace) : status;
    if (status != GM_OK) {
        return status;
    }
    trace->thread = thread;
    /* Observers before the clock: what a thread learns by waiting does not entitle it to wait. */
    gm_trace_place(trace, sync->file, sync->line, thread);
    GM_NOTIFY(trace->all, status, sync, trace, sync);
    if (status != GM_OK) {
        return status;
    }
    gm_trace_place(trace, NULL, 0, -1);
    switch (sync->kind) {
    case GM_MBARRIER_INIT: gm_clock_forget(trace->clock, sync->mbarrier); return GM_OK;
    case GM_MBARRIER_ARRIVE: return gm_clock_arrive(trace->clock, thread, sync->mbarrier);
    case GM_MBARRIER_PHASE: gm_clock_phase(trace->clock, sync->mbarrier); return GM_OK;
    case GM_MBARRIER_WAIT: return gm_clock_wait(trace->clock, thread, sync->mbarrier);
    default: return GM_OK;
    }
}
