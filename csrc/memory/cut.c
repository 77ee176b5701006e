/*
 * A call on arrays of the host, cut into pieces.
 *
 * Each piece is a call of its own on contiguous arrays: rows of the result, and what they are made
 * of. The lanes take the pieces in turn, so that the bus carries both directions while a kernel
 * runs. What all pieces need travels first, as a whole.
 */
#include <stdlib.h>
#include <string.h>

#include "memory/chunk.h"
#include "memory/lanes.h"
#include "memory/memory.h"
#include "memory/transfer.h"
#include "memory/workers.h"

enum {
    OUT = GM_MAX_OPERANDS, /* an operand's index beyond the inputs' */
    OPERANDS,
    LEAST = 64,       /* a piece is a multiple of so many along the axis: aligned like the whole */
    LEAST_PIECES = 4, /* fewer overlap too little */
    LEAST_ROW = 2304, /* bytes: the engines take shorter ones one by one */
    STAND_IN = 1024 * 64, /* an address for arrays that are not there yet */
};

/* How one array is cut: rows of `unit` bytes times the length of the piece. */
typedef struct cut {
    int axis;
    int64_t unit, rows;
} cut;

typedef struct plan {
    cut cuts[OPERANDS];
    int64_t length; /* along the axis, in all */
    int64_t piece;
} plan;

static const gm_array *operand(const gm_call *call, int i)
{
    return i == OUT ? &call->out : &call->in[i];
}

static bool is_cut(const plan *p, const gm_call *call, int i)
{
    return (i == OUT || (i < call->family->input_count && !call->in[i].absent)) &&
           p->cuts[i].axis != GM_UNCUT;
}

static cut cut_along(const gm_array *array, int axis)
{
    cut made = {.axis = axis, .unit = array->itemsize, .rows = 1};
    for (int d = 0; axis >= 0 && d < array->ndim; d++) {
        if (d < axis) {
            made.rows *= array->shape[d];
        } else if (d > axis) {
            made.unit *= array->shape[d];
        }
    }
    return made;
}

/* False when the call is not one to cut. */
static bool make_plan(const gm_call *call, plan *p)
{
    const gm_family *family = call->family;
    int64_t per_step = 0;
    int64_t shortest = LEAST_ROW;
    bool flat = false, staged = false;
    p->length = -1;
    if (!family->split || family->check || family->in_place || call->trace || call->out.size == 0) {
        return false;
    }
    for (int i = 0; i < family->input_count; i++) {
        if (!call->in[i].absent) {
            int axis = family->split(call, i);
            p->cuts[i] = cut_along(&call->in[i], axis);
            flat |= axis == GM_FLAT;
        }
    }
    p->cuts[OUT] = cut_along(&call->out, flat ? GM_FLAT : 0);
    for (int i = 0; i < OPERANDS; i++) {
        if (!is_cut(p, call, i)) {
            continue;
        }
        const gm_array *array = operand(call, i);
        int64_t length = p->cuts[i].axis == GM_FLAT      ? array->size
                         : array->ndim > p->cuts[i].axis ? array->shape[p->cuts[i].axis]
                                                         : -1;
        if (length < 0 || (p->length >= 0 && length != p->length) || !array->contiguous ||
            array->bytes == 0) {
            return false;
        }
        p->length = length;
        staged |= array->memory == GM_PAGEABLE;
        int64_t bytes = p->cuts[i].unit * p->cuts[i].rows;
        per_step = bytes > per_step ? bytes : per_step;
        if (p->cuts[i].rows > 1 && p->cuts[i].unit < shortest) {
            shortest = p->cuts[i].unit;
        }
    }
    int64_t least = family->least_piece > LEAST ? family->least_piece : LEAST;
    if (call->backend->asynchronous && shortest < LEAST_ROW) {
        int64_t across = (LEAST_ROW / shortest + LEAST - 1) / LEAST * LEAST;
        least = least > across ? least : across;
    }
    int64_t all = per_step * p->length; /* of the largest array, which there is */
    int64_t chunk = gm_chunk(call->backend, all, staged);
    if (chunk == INT64_MAX) {
        return false;
    }
    p->piece = chunk / (per_step > 0 ? per_step : 1) / LEAST * LEAST;
    p->piece = p->piece > least ? p->piece : least;
    return p->length >= LEAST_PIECES * p->piece;
}

/* The call on the piece that begins at `first`, with its arrays at these addresses. */
static void describe_piece(const gm_call *call, const plan *p, int64_t length,
                           void *const *addresses, gm_stream stream, gm_call *piece)
{
    *piece = *call;
    piece->stream = stream;
    for (int i = 0; i < OPERANDS; i++) {
        gm_array *array = i == OUT ? &piece->out : &piece->in[i];
        if (i != OUT && (i >= call->family->input_count || array->absent)) {
            continue;
        }
        array->data = addresses[i];
        array->memory = GM_DEVICE;
        if (!is_cut(p, call, i)) {
            continue;
        }
        if (p->cuts[i].axis == GM_FLAT) {
            array->ndim = 1;
            array->shape[0] = length;
        } else {
            array->shape[p->cuts[i].axis] = length;
        }
        array->size = 1;
        int64_t stride = array->itemsize;
        for (int d = array->ndim - 1; d >= 0; d--) {
            array->strides[d] = stride;
            stride *= array->shape[d];
            array->size *= array->shape[d];
        }
        array->bytes = array->size * array->itemsize;
    }
}

static bool fits(const gm_variant *variant, const gm_call *call, const plan *p, int64_t length)
{
    void *stand_ins[OPERANDS];
    gm_plan unused;
    gm_call *piece = malloc(sizeof *piece);
    if (!piece) {
        return false;
    }
    for (int i = 0; i < OPERANDS; i++) {
        stand_ins[i] = (void *)(uintptr_t)STAND_IN;
    }
    describe_piece(call, p, length, stand_ins, NULL, piece);
    gm_error before = *gm_last_error();
    bool does = gm_prepare(&variant, piece, &unused) == GM_OK;
    *gm_last_error() = before;
    free(piece);
    return does;
}

static bool all_fit(const gm_variant *variant, const gm_call *call, const plan *p)
{
    int64_t rest = p->length % p->piece;
    return fits(variant, call, p, p->piece) && (rest == 0 || fits(variant, call, p, rest));
}

bool gm_can_cut(const gm_variant *variant, const gm_call *call)
{
    plan p = {.length = -1};
    return make_plan(call, &p) && all_fit(variant, call, &p);
}

/* ---- running -------------------------------------------------------------------------------- */

/* What a run holds: per lane, device memory for each array that is cut, and page-locked memory
 * for those that are pageable. */
typedef struct run {
    const gm_variant *variant;
    const gm_call *call;
    plan plan;
    gm_lanes *lanes;
    void *device[GM_LANES][OPERANDS];
    char *staging[GM_LANES][OPERANDS];
    bool direct[OPERANDS];
    int64_t first[GM_LANES], length[GM_LANES]; /* of the piece that a lane has; none: 0 */
} run;

/* The engines copy rows that are at most so far apart. */
enum { MOST_PITCH = INT32_MAX };

static gm_status allocate(run *r)
{
    const gm_backend *backend = r->call->backend;
    gm_status status = gm_lanes_take(backend, &r->lanes);
    for (int i = 0; status == GM_OK && i < OPERANDS; i++) {
        const gm_array *array = operand(r->call, i);
        if (i != OUT && (i >= r->call->family->input_count || array->absent)) {
            continue;
        }
        if (!is_cut(&r->plan, r->call, i)) {
            status = backend->allocate(array->bytes, &r->device[0][i]);
            for (int lane = 1; lane < GM_LANES; lane++) {
                r->device[lane][i] = r->device[0][i];
            }
            if (status == GM_OK) {
                status = gm_transfer_new(backend, r->device[0][i], array->data, array->bytes,
                                         array->memory, NULL);
            }
            continue;
        }
        const cut *c = &r->plan.cuts[i];
        r->direct[i] =
            array->memory != GM_PAGEABLE && r->plan.length * c->unit <= (int64_t)MOST_PITCH;
        r->direct[i] |= array->memory != GM_PAGEABLE && c->rows == 1;
        for (int lane = 0; status == GM_OK && lane < GM_LANES; lane++) {
            int64_t bytes = r->plan.piece * c->unit * c->rows;
            status = backend->allocate(bytes, &r->device[lane][i]);
            if (status == GM_OK && !r->direct[i]) {
                status = gm_host_allocate(backend, GM_PINNED, bytes, (void **)&r->staging[lane][i]);
            }
        }
    }
    return status;
}

static void release(run *r)
{
    for (int i = 0; i < OPERANDS; i++) {
        bool shared = !is_cut(&r->plan, r->call, i);
        for (int lane = 0; lane < (shared ? 1 : GM_LANES); lane++) {
            if (r->device[lane][i]) {
                r->call->backend->release(r->device[lane][i]);
            }
            if (r->staging[lane][i]) {
                gm_host_release(r->staging[lane][i]);
            }
        }
    }
    if (r->lanes) {
        gm_lanes_give(r->lanes);
    }
}

static gm_status send(run *r, int lane, int i)
{
    const gm_backend *backend = r->call->backend;
    const cut *c = &r->plan.cuts[i];
    const char *from = r->call->in[i].data + r->first[lane] * c->unit;
    int64_t width = r->length[lane] * c->unit, pitch = r->plan.length * c->unit;
    gm_stream stream = r->lanes->in;
    if (!r->direct[i]) {
        gm_copy_rows_together(r->staging[lane][i], width, from, pitch, width, c->rows);
        from = r->staging[lane][i];
        pitch = width;
    }
    if (c->rows == 1 || pitch == width) {
        return backend->copy(r->device[lane][i], from, width * c->rows, GM_TO_DEVICE, stream);
    }
    return backend->copy_rows(r->device[lane][i], width, from, pitch, width, c->rows, GM_TO_DEVICE,
                              stream);
}

/* The result's pieces are rows of it: they are contiguous. */
static gm_status fetch(run *r, int lane)
{
    int64_t unit = r->plan.cuts[OUT].unit;
    char *to = r->direct[OUT] ? r->call->out.data + r->first[lane] * unit : r->staging[lane][OUT];
    return r->call->backend->copy(to, r->device[lane][OUT], r->length[lane] * unit, GM_TO_HOST,
                                  r->lanes->stream[lane]);
}

/* Waits for the lane's piece, and puts its result where it belongs. */
static gm_status collect(run *r, int lane, gm_status status)
{
    status = gm_finish(r->call->backend, r->lanes->stream[lane], status);
    if (status == GM_OK && r->length[lane] > 0 && !r->direct[OUT]) {
        int64_t unit = r->plan.cuts[OUT].unit, bytes = r->length[lane] * unit;
        gm_copy_rows_together(r->call->out.data + r->first[lane] * unit, bytes,
                              r->staging[lane][OUT], bytes, bytes, 1);
    }
    r->length[lane] = 0;
    return status;
}

static gm_status run_piece(run *r, int lane, int64_t first, gm_call *piece)
{
    gm_plan launch;
    const gm_variant *variant = r->variant;
    gm_status status = collect(r, lane, GM_OK);
    if (status != GM_OK) {
        return status;
    }
    int64_t left = r->plan.length - first;
    r->first[lane] = first;
    r->length[lane] = left < r->plan.piece ? left : r->plan.piece;
    for (int i = 0; status == GM_OK && i < r->call->family->input_count; i++) {
        if (is_cut(&r->plan, r->call, i)) {
            status = send(r, lane, i);
        }
    }
    if (status == GM_OK) {
        status = gm_lanes_arrive(r->lanes, lane);
    }
    if (status == GM_OK) {
        describe_piece(r->call, &r->plan, r->length[lane], r->device[lane], r->lanes->stream[lane],
                       piece);
        status = gm_prepare(&variant, piece, &launch);
    }
    if (status == GM_OK) {
        status = gm_launch(variant, piece, &launch);
    }
    return status == GM_OK ? fetch(r, lane) : status;
}

/*
 * Strips of page-locked memory: between kernels the copy engines collect rows that are far apart at
 * half the speed of the bus (measured on an H200). One kernel that uses both sides where they are
 * is faster then, if its accesses are whole lines, as those of "auto" are.
 */
static bool is_for_one_kernel(const gm_variant *variant, const gm_call *call, const plan *p)
{
    bool strips = false;
    for (int i = 0; i < OPERANDS; i++) {
        if (is_cut(p, call, i)) {
            strips |= p->cuts[i].rows > 1;
            if (operand(call, i)->memory == GM_PAGEABLE) {
                return false;
            }
        } else if (i < call->family->input_count && !call->in[i].absent) {
            return false; /* what all pieces need is read often */
        }
    }
    return strips && !variant && call->backend->asynchronous;
}

static gm_status run_one_kernel(const gm_call *call)
{
    gm_plan launch;
    const gm_variant *variant = NULL;
    gm_status status = gm_prepare(&variant, call, &launch);
    if (status == GM_OK) {
        status = gm_launch(variant, call, &launch);
    }
    return gm_finish(call->backend, call->stream, status);
}

gm_status gm_run_cut(const gm_variant *variant, const gm_call *call)
{
    run r = {.variant = variant, .call = call};
    gm_call *piece = malloc(sizeof *piece);
    if (!piece) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for a call");
    }
    make_plan(call, &r.plan);
    if (is_for_one_kernel(variant, call, &r.plan)) {
        free(piece);
        return run_one_kernel(call);
    }
    gm_status status = call->backend->wait(call->stream); /* what is on it comes first */
    if (status == GM_OK) {
        status = allocate(&r);
    }
    int lane = 0;
    for (int64_t first = 0; status == GM_OK && first < r.plan.length; first += r.plan.piece) {
        status = run_piece(&r, lane, first, piece);
        lane = (lane + 1) % GM_LANES;
    }
    if (r.lanes) { /* also what came in for a piece that failed */
        status = gm_finish(call->backend, r.lanes->in, status);
    }
    for (int i = 0; r.lanes && i < GM_LANES; i++, lane = (lane + 1) % GM_LANES) {
        status = collect(&r, lane, status);
    }
    release(&r);
    free(piece);
    return status;
}
