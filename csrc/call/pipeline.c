/*
 * The loop over pieces: each is sent to the device, put through a kernel and fetched, on the stream
 * of its slot, while the pieces before and after it are in other slots. A whole call is one piece
 * on the call's own stream, whose operands travel before and after the loop.
 */
#include "call/pipeline.h"

#include <stdlib.h>

#include "memory/host.h"
#include "memory/stream_pool.h"
#include "memory/transfer.h"
#include "memory/workers.h"

enum { MOST_PITCH = INT32_MAX }; /* bytes: the largest pitch that the copy engines take */

/* An operand on the host. */
typedef struct host_side {
    char *data;
    gm_memory_kind kind;
    bool direct; /* the copy engines access it; otherwise pieces are staged in page-locked memory */
} host_side;

/* What one piece in flight holds. */
typedef struct slot {
    gm_stream stream;
    void *device[GM_OPERANDS];
    char *staging[GM_OPERANDS];
    int64_t first, length; /* of the piece; length 0: the slot is free */
} slot;

/* Plans of pieces: one for each slot's memory, and one for the last piece if that is shorter. */
typedef struct piece_plans {
    gm_call call; /* described anew for each piece */
    gm_plan full[GM_SLOTS], last;
    const gm_variant *last_variant;
} piece_plans;

typedef struct pipeline {
    gm_run *run;
    const gm_chunks *chunks;
    bool whole;
    gm_stream_set *streams; /* NULL if whole */
    piece_plans *plans;     /* NULL if whole: the plan is the run's own */
    host_side host[GM_OPERANDS];
    slot slots[GM_SLOTS];
    int slot_count;
} pipeline;

static bool is_divided(const pipeline *p, int i)
{
    return p->chunks->of[i].axis != GM_UNCUT;
}

/* The result of an in-place family is its first input, on the device too. */
static bool is_first_input(const pipeline *p, int i)
{
    return i == GM_OUT && p->run->call.family->in_place;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Device memory for a whole operand, which all slots share. */
static gm_status allocate_whole(pipeline *p, int i, int64_t bytes)
{
    gm_status status = GM_OK;
    void *address = p->slots[0].device[0];
    if (!is_first_input(p, i)) {
        status = p->run->call.backend->allocate(bytes, NULL, &address);
    }
    for (int at = 0; status == GM_OK && at < p->slot_count; at++) {
        p->slots[at].device[i] = address;
    }
    return status;
}

static gm_status allocate_pieces(pipeline *p, int i)
{
    const gm_backend *backend = p->run->call.backend;
    const gm_strips *strips = &p->chunks->of[i];
    int64_t bytes = p->chunks->piece * strips->unit * strips->rows;
    gm_status status = GM_OK;
    p->host[i].direct = p->host[i].kind != GM_PAGEABLE &&
                        (strips->rows == 1 || p->chunks->length * strips->unit <= MOST_PITCH);
    for (int at = 0; status == GM_OK && at < p->slot_count; at++) {
        slot *s = &p->slots[at];
        status = backend->allocate(bytes, NULL, &s->device[i]);
        if (status == GM_OK && !p->host[i].direct) {
            status = gm_host_allocate(backend, GM_PINNED, bytes, (void **)&s->staging[i]);
        }
    }
    return status;
}

static gm_status allocate(pipeline *p)
{
    gm_status status = GM_OK;
    if (!p->whole) {
        p->plans = malloc(sizeof *p->plans);
        status = p->plans ? gm_stream_pool_take(p->run->call.backend, &p->streams)
                          : gm_fail(GM_ERROR_MEMORY, "out of memory for the plans of a call");
    }
    for (int at = 0; status == GM_OK && at < p->slot_count; at++) {
        p->slots[at].stream = p->whole ? p->run->call.stream : p->streams->slot[at];
    }
    for (int i = 0; status == GM_OK && i < GM_OPERANDS; i++) {
        const gm_array *array = gm_run_operand(p->run, i);
        if (array && p->run->at[i].needs_transfer) {
            p->host[i] = (host_side){.data = array->data, .kind = array->memory};
            status = is_divided(p, i) ? allocate_pieces(p, i) : allocate_whole(p, i, array->bytes);
        }
    }
    return status;
}

static void release(pipeline *p)
{
    for (int i = 0; i < GM_OPERANDS; i++) {
        int owners = is_first_input(p, i) ? 0 : is_divided(p, i) ? p->slot_count : 1;
        for (int at = 0; at < owners; at++) {
            if (p->slots[at].device[i]) {
                p->run->call.backend->release(p->slots[at].device[i], NULL);
            }
            if (p->slots[at].staging[i]) {
                gm_host_release(p->slots[at].staging[i]);
            }
        }
    }
    if (p->streams) {
        gm_stream_pool_give(p->streams);
    }
    free(p->plans);
}

/* ---- plans ---------------------------------------------------------------------------------- */

static gm_status plan_whole(pipeline *p)
{
    for (int i = 0; i < GM_OPERANDS; i++) {
        gm_array *array = gm_run_operand(p->run, i);
        if (array && p->run->at[i].needs_transfer) {
            array->data = p->slots[0].device[i];
            array->memory = GM_DEVICE;
        }
    }
    return gm_run_plan(p->run);
}

static void describe(pipeline *p, int at, int64_t length)
{
    slot *s = &p->slots[at];
    gm_chunks_describe_piece(p->run, p->chunks, length, s->device, s->stream, &p->plans->call);
}

/* The family is asked once: pieces of one length differ in their addresses alone, which are aligned
 * alike. A shorter last piece may suit another variant. */
static gm_status plan_pieces(pipeline *p)
{
    const gm_chunks *chunks = p->chunks;
    int64_t rest = chunks->length % chunks->piece;
    gm_status status = GM_OK;
    p->run->variant = p->run->call.variant;
    for (int at = 0; status == GM_OK && at < p->slot_count; at++) {
        describe(p, at, chunks->piece);
        status = gm_prepare(&p->run->variant, &p->plans->call, &p->plans->full[at]);
    }
    if (status == GM_OK && rest > 0) {
        p->plans->last_variant = p->run->call.variant;
        describe(p, (int)(chunks->length / chunks->piece % p->slot_count), rest);
        status = gm_prepare(&p->plans->last_variant, &p->plans->call, &p->plans->last);
    }
    return status;
}

/* ---- transfers ------------------------------------------------------------------------------ */

static gm_route route_of(const pipeline *p, int i)
{
    const gm_run *run = p->run;
    return (gm_route){run->call.backend, run->call.stream, p->host[i].kind, run->chunk};
}

static gm_status send_whole(pipeline *p)
{
    gm_status status = GM_OK;
    for (int i = 0; status == GM_OK && i < GM_OPERANDS; i++) {
        void *device = p->slots[0].device[i];
        if (!device || is_divided(p, i)) {
            continue;
        }
        int64_t bytes = gm_run_operand(p->run, i)->bytes;
        gm_route route = route_of(p, i);
        status = i == GM_OUT ? gm_touch_new(route.backend, device, bytes)
                             : gm_transfer_new(&route, device, p->host[i].data, bytes);
    }
    return status;
}

static gm_status fetch_whole(pipeline *p)
{
    const void *device = p->slots[0].device[GM_OUT];
    gm_route route = route_of(p, GM_OUT);
    return device ? gm_transfer(&route, p->host[GM_OUT].data, device, p->run->call.out.bytes,
                                GM_TO_HOST)
                  : GM_OK;
}

static gm_status send_piece(pipeline *p, slot *s, int i)
{
    const gm_backend *backend = p->run->call.backend;
    const gm_strips *strips = &p->chunks->of[i];
    const char *from = p->host[i].data + s->first * strips->unit;
    int64_t width = s->length * strips->unit, pitch = p->chunks->length * strips->unit;
    if (!p->host[i].direct) {
        gm_copy_rows_together(s->staging[i], width, from, pitch, width, strips->rows);
        from = s->staging[i];
        pitch = width;
    }
    if (strips->rows == 1 || pitch == width) {
        return backend->copy(s->device[i], from, width * strips->rows, GM_TO_DEVICE,
                             p->streams->upload);
    }
    return backend->copy_rows(s->device[i], width, from, pitch, width, strips->rows, GM_TO_DEVICE,
                              p->streams->upload);
}

/* A piece of the result is rows of it, so contiguous. */
static gm_status fetch_piece(pipeline *p, slot *s)
{
    int64_t unit = p->chunks->of[GM_OUT].unit;
    char *to = p->host[GM_OUT].direct ? p->host[GM_OUT].data + s->first * unit : s->staging[GM_OUT];
    return p->run->call.backend->copy(to, s->device[GM_OUT], s->length * unit, GM_TO_HOST,
                                      s->stream);
}

/* Waits for the piece in a slot, and takes its result out of the staging memory. */
static gm_status collect(pipeline *p, slot *s, gm_status status)
{
    status = gm_finish(p->run->call.backend, s->stream, status);
    if (status == GM_OK && s->length > 0 && s->staging[GM_OUT]) {
        int64_t unit = p->chunks->of[GM_OUT].unit, bytes = s->length * unit;
        gm_copy_rows_together(p->host[GM_OUT].data + s->first * unit, bytes, s->staging[GM_OUT],
                              bytes, bytes, 1);
    }
    s->length = 0;
    return status;
}

/* ---- the loop ------------------------------------------------------------------------------- */

static gm_status launch(pipeline *p, int at)
{
    const gm_run *run = p->run;
    if (p->whole) {
        return gm_launch(run->variant, &run->call, &run->plan);
    }
    int64_t length = p->slots[at].length;
    bool full = length == p->chunks->piece;
    describe(p, at, length);
    return gm_launch(full ? run->variant : p->plans->last_variant, &p->plans->call,
                     full ? &p->plans->full[at] : &p->plans->last);
}

static gm_status run_piece(pipeline *p, int at, int64_t first)
{
    slot *s = &p->slots[at];
    int64_t left = p->chunks->length - first;
    gm_status status = s->length > 0 ? collect(p, s, GM_OK) : GM_OK;
    if (status != GM_OK) {
        return status;
    }
    s->first = first;
    s->length = left < p->chunks->piece ? left : p->chunks->piece;
    for (int i = 0; status == GM_OK && i < GM_MAX_OPERANDS; i++) {
        if (s->device[i] && is_divided(p, i)) {
            status = send_piece(p, s, i);
        }
    }
    if (status == GM_OK && p->streams) {
        status = gm_stream_set_await_upload(p->streams, at);
    }
    if (status == GM_OK) {
        status = launch(p, at);
    }
    return status == GM_OK && is_divided(p, GM_OUT) ? fetch_piece(p, s) : status;
}

static gm_status run_pieces(pipeline *p)
{
    const gm_run *run = p->run;
    int at = 0;
    /* The slots' streams do not follow the call's stream. */
    gm_status status = p->whole ? GM_OK : run->call.backend->wait(run->call.stream);
    if (status == GM_OK) {
        status = send_whole(p);
    }
    if (status == GM_OK) {
        status = gm_check(&run->call);
    }
    for (int64_t first = 0; status == GM_OK && first < p->chunks->length;
         first += p->chunks->piece) {
        status = run_piece(p, at, first);
        at = (at + 1) % p->slot_count;
    }
    if (p->streams) { /* also the input of a piece that failed */
        status = gm_finish(run->call.backend, p->streams->upload, status);
    }
    for (int i = 0; i < p->slot_count; i++, at = (at + 1) % p->slot_count) {
        status = collect(p, &p->slots[at], status);
    }
    return status == GM_OK && p->whole ? fetch_whole(p) : status;
}

gm_status gm_pipeline_run(gm_run *run, const gm_chunks *chunks)
{
    bool whole = gm_chunks_are_whole(chunks);
    pipeline p = {.run = run, .chunks = chunks, .whole = whole, .slot_count = whole ? 1 : GM_SLOTS};
    bool fits = true;
    gm_status status = allocate(&p);
    if (status == GM_OK) {
        status = whole ? plan_whole(&p) : plan_pieces(&p);
        fits = status == GM_OK;
    }
    if (status == GM_OK) {
        status = run_pieces(&p);
    }
    release(&p);
    if (fits || whole) {
        return status;
    }
    gm_chunks one;
    gm_chunks_make_whole(&one);
    return gm_pipeline_run(run, &one);
}
