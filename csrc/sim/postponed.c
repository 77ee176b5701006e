/* Postponed checks: whether the use of shared memory is clean, and telling observers if it is not.
 */
#include "sim/postponed.h"

#include <stdlib.h>

#include "sim/batches.h"
#include "sim/observer.h"

enum {
    MOST_KEPT = 1 << 22, /* accesses of a warp; more are told at once */
    WARPS_TO_WAIT = 7,   /* before the next batch, after one that observers did not take */
};

void gm_postponed_batch(gm_trace *trace)
{
    gm_postponed *p = &trace->current->postponed;
    p->batched = trace->may_batch && !p->wait;
    p->wait -= p->wait > 0;
    gm_trace_list_loud(trace);
}

void gm_trace_postpone(gm_trace *trace, bool on)
{
    trace->current->postponed.on = on && trace->may_postpone;
    gm_trace_list_loud(trace);
}

/* ---- time ---------------------------------------------------------------------------------- */

void gm_postponed_barrier(gm_trace *trace)
{
    gm_postponed *p = &trace->current->postponed;
    gm_clean_barrier(&p->use);
    p->count = 0;
    p->clean = true;
    p->used = false;
    gm_trace_postpone(trace, true);
}

void gm_postponed_block(gm_trace *trace)
{
    gm_clean_block(&trace->current->postponed.use);
    gm_postponed_batch(trace);
    gm_postponed_barrier(trace);
}

void gm_postponed_free(gm_postponed *p)
{
    for (int i = 0; i < p->room; i++) {
        gm_stream_free(&p->kept[i]);
    }
    free(p->kept);
    gm_clean_free(&p->use);
}

/* ---- clean use ----------------------------------------------------------------------------- */

/* Has `use` recall what a stream did to shared memory. Returns whether that was clean. */
static bool recall_stream(gm_trace *trace, const gm_warp_stream *stream)
{
    gm_clean *use = &trace->current->postponed.use;
    const uint32_t first_thread = (uint32_t)(stream->thread & -GM_WARP);
    const int64_t steps = stream->next - stream->steps;
    const int64_t count = stream->listed ? stream->list_count : steps * stream->lanes;
    bool clean = true;
    for (int64_t i = 0; i < count && clean; i++) {
        gm_access access =
            stream->listed ? stream->list[i]
                           : gm_step_access(&stream->steps[i % steps], stream, (int)(i / steps));
        const gm_site *site = &trace->sites.list[access.site];
        clean = site->space != GM_SPACE_SHARED ||
                gm_clean_recall_access(use, &trace->spaces, &access, site->kind != GM_LOAD,
                                       first_thread + access.lane);
    }
    return clean;
}

/* The same of all since the last barrier. */
static bool recall(gm_trace *trace)
{
    gm_postponed *p = &trace->current->postponed;
    bool clean = gm_clean_recall(&p->use);
    for (int i = 0; i < p->count && clean; i++) {
        clean = recall_stream(trace, &p->kept[i]);
    }
    return clean && recall_stream(trace, trace->stream);
}

void gm_postponed_check(gm_trace *trace, const gm_request *request)
{
    gm_postponed *p = &trace->current->postponed;
    const uint32_t first_thread = (uint32_t)trace->warp * GM_WARP;
    p->used = true;
    if (!p->clean) {
        return;
    }
    gm_cleanness is = gm_clean_request(&p->use, &trace->spaces, request, first_thread);
    if (is == GM_UNSURE && recall(trace)) {
        is = gm_clean_request(&p->use, &trace->spaces, request, first_thread);
    }
    p->clean = is == GM_CLEAN;
}

void gm_postponed_stored(gm_trace *trace, uintptr_t address, uint32_t bytes)
{
    gm_clean_stored(&trace->current->postponed.use, &trace->spaces, address, bytes);
}

/* ---- telling observers --------------------------------------------------------------------- */

/* Of a clean use, all that a load means to an observer which skips loads is that nothing is amiss;
 * but it has been told of the stores. */
typedef enum telling { OF_STORES, OF_THE_REST, OF_ALL } telling;

static bool wants(const gm_observer *observer, telling what)
{
    bool skips_stores = observer->clean & GM_SEES(GM_STORE);
    return what == OF_ALL || skips_stores == (what == OF_THE_REST);
}

static gm_status tell(gm_trace *trace, const gm_access *access, unsigned spaces, telling what)
{
    const gm_site *site = &trace->sites.list[access->site];
    const gm_subscribers *subscribers = &trace->on_usual[site->space];
    if (!(spaces & GM_SEES(site->space)) || (what == OF_STORES && site->kind == GM_LOAD)) {
        return GM_OK;
    }
    const gm_access_call *present = trace->call;
    const gm_access_call call = {.code = site->address,
                                 .address = access->address,
                                 .bytes = access->bytes,
                                 .kind = site->kind};
    gm_status status = GM_OK;
    gm_region region;
    if (site->space == GM_SPACE_GLOBAL) {
        gm_spaces_find(&trace->spaces, access->address, &region); /* sets last_global */
    }
    trace->thread = trace->warp * GM_WARP + access->lane;
    trace->call = &call;
    for (int i = 0; i < subscribers->count && status == GM_OK; i++) {
        const gm_subscriber *to = &subscribers->list[i];
        if (wants(to->observer, what)) {
            status = to->observer->access(to->state, trace, access);
            status = status == GM_OK ? GM_OK : gm_trace_stop(trace, to->observer, access, status);
        }
    }
    trace->call = present;
    return status;
}

/* Of what the lanes of a warp did, in the order in which they ran, but for no more accesses than
 * `most`. *told: how many so far. */
static gm_status tell_all(gm_trace *trace, const gm_warp_stream *stream, unsigned spaces,
                          telling what, int64_t most, int64_t *told)
{
    gm_status status = GM_OK;
    trace->warp = stream->thread / GM_WARP;
    *told = 0;
    for (; stream->listed && *told < stream->list_count && *told < most && status == GM_OK;
         ++*told) {
        status = tell(trace, &stream->list[*told], spaces, what);
    }
    for (int lane = 0; !stream->listed && lane < stream->lanes; lane++) {
        const gm_step *past = gm_stream_past(stream, lane);
        const gm_step *step = stream->steps;
        for (; step < past && *told < most && status == GM_OK; step++, ++*told) {
            gm_access access = gm_step_access(step, stream, lane);
            status = tell(trace, &access, spaces, what);
        }
    }
    return status;
}

/* The same of stores, whose order does not matter. */
static gm_status tell_stores(gm_trace *trace, const gm_warp_stream *stream)
{
    gm_status status = GM_OK;
    int64_t told;
    if (stream->listed) {
        return tell_all(trace, stream, GM_SEES(GM_SPACE_SHARED), OF_STORES, INT64_MAX, &told);
    }
    for (const gm_step *step = stream->steps; step < stream->next; step++) {
        bool store = step->space == GM_SPACE_SHARED && step->call.kind != GM_LOAD;
        const gm_shape *shape = &stream->shapes[step - stream->steps];
        for (int lane = 0; store && lane < stream->lanes && status == GM_OK; lane++) {
            gm_access access = gm_step_access(step, stream, lane);
            if (shape->gapless) { /* all lanes at once */
                access.bytes = (uint32_t)shape->length;
                store = false;
            }
            status = tell(trace, &access, GM_SEES(GM_SPACE_SHARED), OF_STORES);
        }
    }
    return status;
}

/* Tells of shared memory, global memory or both. */
static gm_status tell_of(gm_trace *trace, bool shared, bool global)
{
    gm_postponed *p = &trace->current->postponed;
    const int thread = trace->thread, warp = trace->warp, region = trace->spaces.last_global;
    /* An observer may stop the kernel at an access to global memory: what came later is not told.
     */
    const int64_t most = p->telling ? p->told : INT64_MAX;
    const bool tells_already = p->telling;
    int64_t told;
    gm_status status = GM_OK;
    shared = shared && p->on;
    global = global && p->batched;
    if (global && gm_batch_take(trace, &status)) {
        global = p->batched = false;
    } else if (global) {
        p->wait = WARPS_TO_WAIT;
    }
    p->on = p->on && !shared;
    p->batched = p->batched && !global;
    gm_trace_list_loud(trace);
    for (int i = 0; shared && i < p->count && status == GM_OK; i++) {
        status =
            tell_all(trace, &p->kept[i], GM_SEES(GM_SPACE_SHARED), OF_THE_REST, INT64_MAX, &told);
    }
    if ((shared || global) && status == GM_OK && trace->stream->thread >= 0) {
        unsigned spaces = shared ? GM_SEES(GM_SPACE_SHARED) : 0;
        spaces |= global ? GM_SEES(GM_SPACE_GLOBAL) : 0;
        p->telling = true;
        status =
            tell_all(trace, trace->stream, spaces, OF_ALL, most, tells_already ? &told : &p->told);
        p->telling = tells_already;
    }
    if (status == GM_OK) {
        trace->thread = thread;
    }
    trace->warp = warp;
    trace->spaces.last_global = region;
    return status;
}

gm_status gm_postponed_tell(gm_trace *trace)
{
    return tell_of(trace, true, true);
}

gm_status gm_postponed_tell_global(gm_trace *trace)
{
    return tell_of(trace, false, true);
}

/* ---- keeping ------------------------------------------------------------------------------- */

static bool keep(gm_postponed *p, const gm_warp_stream *stream)
{
    if (stream->length * stream->lanes + stream->list_count > MOST_KEPT) {
        return false;
    }
    if (p->count == p->room) {
        int room = p->room ? 2 * p->room : 8;
        gm_warp_stream *kept = realloc(p->kept, (size_t)room * sizeof *kept);
        if (!kept) {
            return false;
        }
        for (int i = p->room; i < room; i++) {
            kept[i] = (gm_warp_stream){.steps = NULL};
        }
        p->kept = kept;
        p->room = room;
    }
    bool copied = gm_stream_copy(&p->kept[p->count], stream);
    p->count += copied;
    return copied;
}

gm_status gm_postponed_flush(gm_trace *trace)
{
    gm_postponed *p = &trace->current->postponed;
    gm_status status = GM_OK;
    bool used = p->on && p->used, clean = !used || (p->clean && keep(p, trace->stream));
    p->used = false;
    gm_clean_warp(&p->use);
    if (used && clean) {
        status = tell_stores(trace, trace->stream);
    }
    return status == GM_OK ? tell_of(trace, !clean, true) : status;
}

/* ---- stopping ---------------------------------------------------------------------------------
 */

/* Another observer may know of an earlier cause, or may not have been asked yet. */
gm_status gm_trace_stop(gm_trace *trace, const gm_observer *by, const gm_access *at,
                        gm_status status)
{
    const gm_error found = *gm_last_error();
    const int placed = trace->fault.thread;
    const char *file = trace->fault.file;
    const int line = trace->fault.line;
    gm_status earlier = gm_postponed_tell(trace);
    if (earlier == GM_OK && status == GM_ERROR_SIMULATION && !by->about_order) {
        GM_NOTIFY(trace->all, earlier, stopped, trace);
    }
    if (earlier != GM_OK) {
        return earlier;
    }
    const gm_site *site = &trace->sites.list[at->site];
    if (placed >= 0) {
        gm_trace_place(trace, file, line, placed);
    } else if (status == GM_ERROR_SIMULATION) {
        gm_trace_place(trace, site->file, site->line, trace->thread);
    }
    gm_set_last_error(&found);
    return gm_trace_keep(trace, status);
}
