/* Global memory, request by request: asks observers to take all requests of a warp, or none. */
#include "sim/batches.h"

#include <string.h>

#include "sim/observer.h"

/* The steps of a stream, as far as lanes have come, as requests. */
typedef struct batch {
    gm_trace *trace;
    const gm_subscribers *subscribers;
    int64_t steps;
    gm_request request;
} batch;

/* The next request to global memory from the n-th step on. Returns its step, or that past the last.
 */
static int64_t find_request(batch *b, int64_t n)
{
    const gm_warp_stream *stream = b->trace->stream;
    while (n < b->steps && stream->steps[n].space != GM_SPACE_GLOBAL) {
        n++;
    }
    if (n < b->steps) {
        const gm_step *step = &stream->steps[n];
        int lanes = step < stream->next ? stream->lanes : stream->lanes - 1;
        gm_request_of_step(&b->request, stream, &b->trace->sites, n, lanes);
        b->trace->spaces.last_global = step->global;
        b->trace->call = &step->call;
    }
    return n;
}

/* Those that came before the n-th step, and the n-th itself, are as if they had not been taken. */
static void put_back(batch *b, int64_t last)
{
    for (int64_t n = find_request(b, 0); n <= last; n = find_request(b, n + 1)) {
        for (int i = 0; i < b->subscribers->count; i++) {
            const gm_subscriber *to = &b->subscribers->list[i];
            if (to->observer->put_back) {
                to->observer->put_back(to->state, b->trace, &b->request);
            }
        }
    }
}

/* Tells an observer of the accesses of a request. */
static gm_status tell(batch *b, const gm_subscriber *to)
{
    gm_trace *trace = b->trace;
    const gm_request *request = &b->request;
    gm_status status = GM_OK;
    for (int lane = 0; lane < request->lanes && status == GM_OK; lane++) {
        gm_access access = {request->address[lane], request->bytes[lane],
                            (uint32_t)(request->site - trace->sites.list), request->lane[lane]};
        trace->thread = trace->warp * GM_WARP + access.lane;
        status = to->observer->access(to->state, trace, &access);
    }
    return status;
}

static bool take(batch *b, gm_status *status)
{
    for (int64_t n = find_request(b, 0); n < b->steps; n = find_request(b, n + 1)) {
        for (int i = 0; i < b->subscribers->count && *status == GM_OK; i++) {
            const gm_subscriber *to = &b->subscribers->list[i];
            gm_take took = to->observer->take(to->state, b->trace, &b->request);
            if (took == GM_REFUSES) {
                put_back(b, n);
                return false;
            }
            *status = took == GM_TAKES_PARTLY ? tell(b, to) : GM_OK;
        }
    }
    return true;
}

bool gm_batch_take(gm_trace *trace, gm_status *status)
{
    const gm_warp_stream *stream = trace->stream;
    const gm_access_call *call = trace->call;
    const int thread = trace->thread, warp = trace->warp;
    batch b = {.trace = trace, .subscribers = &trace->on_usual[GM_SPACE_GLOBAL]};
    if (stream->listed) {
        return false;
    }
    if (stream->thread >= 0) {
        b.steps = stream->lanes == 1 ? stream->next - stream->steps : stream->length;
    }
    memcpy(b.request.lane, stream->lane, sizeof b.request.lane);
    trace->batch++;
    trace->warp = stream->thread / GM_WARP;
    *status = GM_OK;
    bool taken = take(&b, status);
    trace->call = call;
    trace->thread = thread;
    trace->warp = warp;
    return taken;
}
