/* Divides a call into pieces. */
#include "call/chunks.h"

#include "memory/transfer.h"

enum {
    STEP = 64,        /* the length of a piece is a multiple: pieces are aligned like the whole */
    LEAST_PIECES = 4, /* fewer overlap too little */
    LEAST_ROW = 2304, /* bytes: the copy engines take shorter rows one by one */
};

void gm_chunks_make_whole(gm_chunks *chunks)
{
    for (int i = 0; i < GM_OPERANDS; i++) {
        chunks->of[i] = (gm_strips){.axis = GM_UNCUT};
    }
    chunks->length = chunks->piece = 1;
}

bool gm_chunks_are_whole(const gm_chunks *chunks)
{
    return chunks->of[GM_OUT].axis == GM_UNCUT;
}

static gm_strips strips_along(const gm_array *array, int axis)
{
    gm_strips strips = {.axis = axis, .unit = array->itemsize, .rows = 1};
    for (int d = 0; axis >= 0 && d < array->ndim; d++) {
        if (d < axis) {
            strips.rows *= array->shape[d];
        } else if (d > axis) {
            strips.unit *= array->shape[d];
        }
    }
    return strips;
}

/* The length along the axis; -1 if the array cannot be divided along it. */
static int64_t length_along(const gm_array *array, int axis)
{
    if (!array->contiguous || array->bytes == 0) {
        return -1;
    }
    return axis == GM_FLAT ? array->size : array->ndim > axis ? array->shape[axis] : -1;
}

/* Asks the family how each operand is divided; false if the call has to stay whole. */
static bool ask_family(gm_run *run, gm_chunks *chunks)
{
    const gm_call *call = &run->call;
    const gm_family *family = call->family;
    bool flat = false;
    if (!family->split || family->check || family->in_place || call->trace || call->out.size == 0) {
        return false;
    }
    for (int i = 0; i < family->input_count; i++) {
        if (gm_run_operand(run, i)) {
            int axis = family->split(call, i);
            chunks->of[i] = strips_along(&call->in[i], axis);
            flat |= axis == GM_FLAT;
        }
    }
    chunks->of[GM_OUT] = strips_along(&call->out, flat ? GM_FLAT : 0);
    chunks->length = -1;
    for (int i = 0; i < GM_OPERANDS; i++) {
        const gm_array *array = gm_run_operand(run, i);
        if (!array) {
            continue;
        }
        if (!run->at[i].needs_transfer) {
            return false;
        }
        if (chunks->of[i].axis == GM_UNCUT) {
            continue;
        }
        int64_t length = length_along(array, chunks->of[i].axis);
        if (length < 0 || (chunks->length >= 0 && length != chunks->length)) {
            return false;
        }
        chunks->length = length;
    }
    return true;
}

/* Sets the length of a piece; false if there would be too few. */
static bool choose_piece(gm_run *run, gm_chunks *chunks)
{
    const gm_backend *backend = run->call.backend;
    const gm_family *family = run->call.family;
    int64_t widest = 0; /* bytes per step of length, of the largest operand */
    int64_t shortest_row = LEAST_ROW;
    bool staged = false;
    for (int i = 0; i < GM_OPERANDS; i++) {
        const gm_array *array = gm_run_operand(run, i);
        const gm_strips *strips = &chunks->of[i];
        if (!array || strips->axis == GM_UNCUT) {
            continue;
        }
        staged |= array->memory == GM_PAGEABLE;
        int64_t width = strips->unit * strips->rows;
        widest = width > widest ? width : widest;
        if (strips->rows > 1 && strips->unit < shortest_row) {
            shortest_row = strips->unit;
        }
    }
    int64_t least = family->least_piece > STEP ? family->least_piece : STEP;
    if (backend->asynchronous && shortest_row < LEAST_ROW) {
        int64_t across = (LEAST_ROW / shortest_row + STEP - 1) / STEP * STEP;
        least = least > across ? least : across;
    }
    int64_t bytes = gm_chunk_bytes(backend, run->chunk, widest * chunks->length, staged);
    if (bytes == INT64_MAX) {
        return false;
    }
    chunks->piece = bytes / (widest > 0 ? widest : 1) / STEP * STEP;
    chunks->piece = chunks->piece > least ? chunks->piece : least;
    return chunks->length >= LEAST_PIECES * chunks->piece;
}

void gm_chunks_choose(gm_run *run, gm_chunks *chunks)
{
    gm_chunks divided;
    gm_chunks_make_whole(chunks);
    divided = *chunks;
    if (ask_family(run, &divided) && choose_piece(run, &divided)) {
        *chunks = divided;
    }
}

/*
 * Strips of page-locked memory: between kernels the copy engines collect rows that are far apart at
 * half the speed of the bus (measured on an H200). One kernel that uses both sides in place is
 * faster if it accesses whole lines, as the variants of "auto" do.
 */
bool gm_chunks_suit_one_kernel(gm_run *run, const gm_chunks *chunks)
{
    if (gm_chunks_are_whole(chunks) || run->call.variant || !run->call.backend->asynchronous) {
        return false;
    }
    bool strips = false;
    for (int i = 0; i < GM_OPERANDS; i++) {
        const gm_array *array = gm_run_operand(run, i);
        /* What every piece needs is read often: not over the bus. */
        if (array && (chunks->of[i].axis == GM_UNCUT || array->memory == GM_PAGEABLE)) {
            return false;
        }
        strips |= array && chunks->of[i].rows > 1;
    }
    return strips;
}

static void shorten(gm_array *array, int axis, int64_t length)
{
    if (axis == GM_FLAT) {
        array->ndim = 1;
        array->shape[0] = length;
    } else {
        array->shape[axis] = length;
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

void gm_chunks_describe_piece(gm_run *run, const gm_chunks *chunks, int64_t length,
                              void *const *addresses, gm_stream stream, gm_call *piece)
{
    *piece = run->call;
    piece->stream = stream;
    for (int i = 0; i < GM_OPERANDS; i++) {
        if (!gm_run_operand(run, i)) {
            continue;
        }
        gm_array *array = i == GM_OUT ? &piece->out : &piece->in[i];
        array->data = addresses[i];
        array->memory = GM_DEVICE;
        if (chunks->of[i].axis != GM_UNCUT) {
            shorten(array, chunks->of[i].axis, length);
        }
    }
}
