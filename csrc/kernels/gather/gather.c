/* gather: the family. Unless it is wrapped or clipped, the index is checked before anything is
 * written: by a kernel of its own, or by `checked`. */
#include "gather/gather.h"

#include <string.h>

#include "backend/backend.h"
#include "gather/check.h"

static gm_status takes_words(const gm_variant *variant, const gm_call *call);
static gm_status launch_checked(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#define GM_FAMILY gather
#define GM_LADDER "gather/ladder.def"
#include "family.h"

const gm_variant *const gather_helper_index_range = &helper_index_range;

enum { A, INDEX };
enum { LARGE = 1 << 20 /* elements */, WORD = 4 /* bytes */ };

static gm_status gather_result(gm_call *call)
{
    const gm_array *index = &call->in[INDEX];
    gm_status status = gm_expect_dimensions(call, A, 1, "");
    if (status != GM_OK) {
        return status;
    }
    status = gather_mode_suits(call, A, INDEX);
    if (status != GM_OK) {
        return status;
    }
    call->out.ndim = index->ndim;
    memcpy(call->out.shape, index->shape, (size_t)index->ndim * sizeof *index->shape);
    return GM_OK;
}

/* Vectors of a contiguous index, and whole stores. */
static gm_status takes_words(const gm_variant *variant, const gm_call *call)
{
    enum { VECTOR = 16, EACH = 4 };
    const gm_array *index = &call->in[INDEX], *out = &call->out;
    int64_t stride;
    gm_status status = gather_find_stride(index, &stride);
    if (status != GM_OK || out->bytes == 0) {
        return status;
    }
    const int64_t store = EACH * out->itemsize < VECTOR ? EACH * out->itemsize : VECTOR;
    if (stride == index->itemsize && (uintptr_t)index->data % VECTOR == 0 &&
        (uintptr_t)out->data % (uintptr_t)store == 0) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "variant %s needs a contiguous index at a multiple of %d bytes and a result at "
                   "one of %d (variant=\"auto\" takes any)",
                   variant->name, VECTOR, (int)store);
}

/* Measured on an H200: large calls gain by loads in flight, small ones by more threads. */
static const gm_variant *gather_choose(const gm_call *call)
{
    const gm_variant *checked = gm_row(call, gather_row_checked);
    if (gather_is_short(call, INDEX) && gm_variant_can(checked, call)) {
        return checked;
    }
    const int large = call->in[A].itemsize <= WORD ? gather_row_words : gather_row_unroll2;
    const int best = call->in[INDEX].size > LARGE ? large : gather_row_cached;
    return gm_first_that_fits(call, GM_ROWS(best, gather_row_cached, gather_row_any));
}

static gm_status gather_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *in = &call->in[A], *index = &call->in[INDEX];
    gather_args *args = (gather_args *)plan->args;
    int64_t index_stride;
    gm_status status = gather_find_stride(index, &index_stride);
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
        .mode = gather_mode_of(call),
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

static gm_status gather_check(const gm_call *call)
{
    const gm_variant *variant = call->variant ? call->variant : gather_choose(call);
    return gather_check_before(call, INDEX, call->in[A].shape[0],
                               variant == gm_row(call, gather_row_checked));
}

static gm_status launch_checked(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const int64_t length = call->in[A].shape[0];
    return gather_is_short(call, INDEX)
               ? gather_launch_checked(variant, call, plan, &((gather_args *)plan->args)->verdict,
                                       INDEX, length)
               : call->backend->launch(variant, plan, call->stream);
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

static const gm_parameter parameters[] = {GATHER_MODE_PARAMETER};

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
