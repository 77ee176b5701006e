/* gather: the family. Unless it is wrapped or clipped, the index is checked before anything is
 * written: by a kernel of its own, or by `checked`. */
#include "gather/gather.h"

#include <string.h>

#include "backend/backend.h"
#include "gather/check.h"
#include "memory/host.h"

static gm_status launch_checked(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#define GM_FAMILY gather
#define GM_LADDER "gather/ladder.def"
#include "family.h"

enum { A, INDEX };
enum { MODE };

static gm_status gather_result(gm_call *call)
{
    const gm_array *index = &call->in[INDEX];
    if (call->in[A].ndim != 1) {
        return gm_fail(GM_ERROR_VALUE, "a has %d dimensions, expected 1", call->in[A].ndim);
    }
    if (call->in[A].size == 0 && index->size != 0 &&
        call->parameters[MODE].integer != GATHER_RAISE) {
        return gm_fail(GM_ERROR_INDEX,
                       "a has no elements: an index can be neither wrapped nor clipped");
    }
    call->out.ndim = index->ndim;
    memcpy(call->out.shape, index->shape, (size_t)index->ndim * sizeof *index->shape);
    return GM_OK;
}

/* Does the kernel of `checked` see for itself whether the index is in range? What is counted is the
 * gather without a check. */
static bool is_short(const gm_call *call)
{
    return call->parameters[MODE].integer == GATHER_RAISE && !call->trace &&
           call->in[INDEX].size <= GATHER_SHORT;
}

/* Measured on an H200: one load per thread keeps as many in flight as four do, and small calls have
 * more threads. */
static const gm_variant *gather_choose(const gm_call *call)
{
    if (is_short(call) && gm_variant_can(gm_row(call, gather_row_checked), call)) {
        return gm_row(call, gather_row_checked);
    }
    return gm_first_that_fits(call, GM_ROWS(gather_row_cached, gather_row_any));
}

/* Bytes from one element of the index to the next, over all its dimensions. */
static gm_status find_index_stride(const gm_array *index, int64_t *stride)
{
    *stride = index->contiguous || index->size <= 1 ? index->itemsize : 0;
    if (*stride == 0 && index->ndim == 1) {
        *stride = index->strides[0];
    } else if (*stride == 0) {
        return gm_fail(GM_ERROR_VALUE,
                       "index has %d dimensions and is not C-contiguous on the device "
                       "(gpumem.copy makes it so)",
                       index->ndim);
    }
    if (((uintptr_t)index->data | (uintptr_t)*stride) % (uintptr_t)index->itemsize != 0) {
        return gm_fail(GM_ERROR_VALUE, "index is not aligned to its elements of %lld bytes",
                       (long long)index->itemsize);
    }
    return GM_OK;
}

static gm_status gather_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *in = &call->in[A], *index = &call->in[INDEX];
    gather_args *args = (gather_args *)plan->args;
    int64_t index_stride;
    gm_status status = find_index_stride(index, &index_stride);
    if (status != GM_OK || call->out.bytes == 0) {
        return status; /* no blocks */
    }
    *args = (gather_args){
        .in = in->data,
        .index = index->data,
        .out = call->out.data,
        .length = in->shape[0],
        .count = index->size,
        .itemsize = (int)in->itemsize,
        .index_size = (int)index->itemsize,
        .mode = (int)call->parameters[MODE].integer,
        .in_stride = in->strides[0],
        .index_stride = index_stride,
    };
    int64_t units = args->count;
    if (variant->layout == GM_STRIDED) {
        args->width = gm_width_dividing((uintptr_t)args->in | (uintptr_t)args->out |
                                        (uintptr_t)args->in_stride | (uintptr_t)args->itemsize);
        args->pieces = args->itemsize / args->width;
        units *= args->pieces;
    }
    plan->args_size = sizeof *args;
    plan->grid.x = gm_grid_blocks(variant, call, units, 0);
    return GM_OK;
}

/* ---- an index out of range ----------------------------------------------------------------- */

enum { MAX_SLOTS = 1024 };

static gm_status read_back(const gm_call *call, void *to, const void *from, int64_t bytes)
{
    gm_status status = call->backend->copy(to, from, bytes, GM_TO_HOST, call->stream);
    return status == GM_OK ? call->backend->wait(call->stream) : status;
}

/*
 * The place of the first index that is out of range; the count if there is none. Blocks write to
 * the host's memory, and only what is wrong: after the one wait there is nothing to copy.
 */
static gm_status find_wrong(const gm_call *call, const gather_index_range_args *args,
                            const gm_plan *plan, int64_t *wrong)
{
    const unsigned blocks = plan->grid.x;
    for (unsigned i = 0; i < blocks; i++) {
        args->wrong[i] = args->count;
    }
    gm_status status = call->backend->launch(&helper_index_range, plan, call->stream);
    if (status == GM_OK) {
        status = call->backend->wait(call->stream);
    }
    *wrong = args->count;
    for (unsigned i = 0; status == GM_OK && i < blocks; i++) {
        *wrong = args->wrong[i] < *wrong ? args->wrong[i] : *wrong;
    }
    return status;
}

static gm_status out_of_range(const gm_call *call, const char *name,
                              const gather_index_range_args *args, int64_t at)
{
    union {
        int32_t narrow;
        int64_t wide;
    } value = {.wide = 0};
    gm_status status =
        read_back(call, &value, args->index + at * args->index_stride, args->index_size);
    if (status != GM_OK) {
        return status;
    }
    return gm_fail(GM_ERROR_INDEX,
                   "index %lld is out of bounds for axis 0 with size %lld (element %lld of %s)",
                   args->index_size != 4 ? (long long)value.wide
                   : args->is_unsigned   ? (long long)(uint32_t)value.narrow
                                         : (long long)value.narrow,
                   (long long)args->length, (long long)at, name);
}

gm_status gather_check_index(const gm_call *call, int input, int64_t least, int64_t length)
{
    const gm_array *index = &call->in[input];
    gm_plan plan = {.grid = {0, 1, 1}, .block = helper_index_range.block};
    gather_index_range_args *args = (gather_index_range_args *)plan.args;
    int64_t wrong;
    void *slots = NULL;

    if (index->size == 0) {
        return GM_OK;
    }
    *args = (gather_index_range_args){
        .index = index->data,
        .count = index->size,
        .least = least,
        .length = length,
        .index_size = (int)index->itemsize,
        .is_unsigned = index->kind == 'u',
    };
    plan.args_size = sizeof *args;
    plan.grid.x = gm_grid_blocks(&helper_index_range, call, index->size, MAX_SLOTS);
    gm_status status = find_index_stride(index, &args->index_stride);
    if (status == GM_OK) {
        status = gm_host_allocate(call->backend, GM_MAPPED, plan.grid.x * (int64_t)sizeof(int64_t),
                                  &slots);
    }
    if (status != GM_OK) {
        return status;
    }
    args->wrong = slots;
    status = find_wrong(call, args, &plan, &wrong);
    if (status == GM_OK && wrong < args->count) {
        status = out_of_range(call, call->family->inputs[input].name, args, wrong);
    }
    gm_host_release(slots);
    return status;
}

/* Before a kernel that trusts the index. With another mode there is nothing to check, and so the
 * host need not wait. */
static gm_status gather_check(const gm_call *call)
{
    const int64_t length = call->in[A].shape[0];
    if (call->parameters[MODE].integer != GATHER_RAISE) {
        return GM_OK;
    }
    const gm_variant *variant = call->variant ? call->variant : gather_choose(call);
    if (variant == gm_row(call, gather_row_checked) && is_short(call)) {
        return GM_OK;
    }
    return gather_check_index(call, INDEX, -length, length);
}

/* Until the kernel has said what it found: soon, or else after the work before it. */
static gm_status await(const gm_call *call, const volatile int *verdict)
{
    enum { LOOKS = 1 << 14 }; /* some 20 us */
    for (int i = 0; i < LOOKS && *verdict == GATHER_UNKNOWN; i++) {
    }
    return *verdict == GATHER_UNKNOWN ? call->backend->wait(call->stream) : GM_OK;
}

/* Which index is wrong is found afterwards; if none is any more, it was changed meanwhile. */
static gm_status launch_checked(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const int64_t length = call->in[A].shape[0];
    volatile int *verdict;
    void *memory = NULL;
    if (!is_short(call)) {
        return call->backend->launch(variant, plan, call->stream);
    }
    gm_status status =
        gm_host_allocate(call->backend, GM_MAPPED, (int64_t)sizeof *verdict, &memory);
    verdict = ((gather_args *)plan->args)->verdict = memory;
    while (status == GM_OK) {
        *verdict = GATHER_UNKNOWN;
        status = call->backend->launch(variant, plan, call->stream);
        status = status == GM_OK ? await(call, verdict) : status;
        if (status != GM_OK || *verdict == GATHER_RIGHT) {
            break;
        }
        status = gather_check_index(call, INDEX, -length, length);
    }
    gm_host_release(memory);
    return status;
}

/* One run of integers, with any distance between them. */
static bool suits_run(const gm_array *index)
{
    return gm_elements_aligned(index) && (index->ndim <= 1 || index->contiguous);
}

static const gm_operand inputs[] = {
    [A] = {.name = "a", .reread = true},
    [INDEX] = {.name = "index",
               .kinds = "i",
               .itemsizes = 1 << 4 | 1 << 8,
               .dtypes = "int32, int64",
               .suits = suits_run},
};

static const gm_parameter parameters[] = {
    [MODE] = {.name = "mode", .least = GATHER_RAISE, .most = GATHER_MODES - 1},
};

const gm_family gm_family_gather = {
    .name = "gather",
    .doc = "a[index]: coalescing that depends on data",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 2,
    .parameters = parameters,
    .parameter_count = 1,
    .result = gather_result,
    .check = gather_check,
    .choose = gather_choose,
    .plan = gather_plan,
};
