/* copy: the family. Shapes, the choice for "auto", and the plans of its kernels. */
#include "copy/copy.h"

#include <string.h>

#include "backend/backend.h"
#include "copy/launches.h"
#include "copy/plan_convert.h"
#include "copy/plan_views.h"
#include "span.h"

static gm_status takes_dimensions(const gm_variant *variant, const gm_call *call);
static gm_status launch_strided(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static int copy_pick_shifted(const gm_call *call);

#define GM_FAMILY copy
#define GM_LADDER "copy/ladder.def"
#include "family.h"

enum { MAX_BLOCKS };

static gm_status copy_result(gm_call *call)
{
    const gm_array *in = &call->in[0];
    call->out.itemsize = in->itemsize;
    call->out.kind = in->kind;
    call->out.ndim = in->ndim;
    memcpy(call->out.shape, in->shape, (size_t)in->ndim * sizeof *in->shape);
    return GM_OK;
}

/* Bytes that a wave of threads copies, which have 64 each. */
static int64_t wave_of(const gm_device_properties *device)
{
    return (int64_t)device->multiprocessors * device->threads_per_multiprocessor * 64;
}

/*
 * A short copy waits for memory once and wants all of it in flight; a long one wants a narrow
 * window of memory. Measured on an H200, the two meet at a wave.
 */
static const gm_variant *copy_choose(const gm_call *call)
{
    if (!call->in[0].contiguous || !call->out.contiguous) {
        /* How many blocks another family's kernel has is its own affair. */
        bool counted = call->parameters[MAX_BLOCKS].integer != 0;
        return counted ? gm_row(call, copy_row_strided)
                       : gm_first_that_fits(call, GM_ROWS(copy_row_permuted, copy_row_strided));
    }
    if (call->in[0].bytes <= wave_of(call->device)) {
        return gm_first_that_fits(
            call, GM_ROWS(copy_row_vec4_unrolled, copy_row_shifted, copy_row_memcpy));
    }
    return gm_first_that_fits(
        call, GM_ROWS(copy_row_vec4_prefetch, copy_row_vec4, copy_row_shifted, copy_row_memcpy));
}

/* With two vectors per thread the window is narrower, and the limit was seen between 1.4 and 3.9
 * waves. */
static int copy_pick_shifted(const gm_call *call)
{
    return call->in[0].bytes <= 2 * wave_of(call->device) ? copy_row_shifted_unrolled
                                                          : copy_row_shifted_stream;
}

/* Each merged axis has at least two units: memory has no room for more than 32 of them, unless
 * elements share their addresses. */
static gm_status takes_dimensions(const gm_variant *variant, const gm_call *call)
{
    if (call->in[0].bytes == 0 || call->in[0].ndim < COPY_MAX_DIMS) {
        return GM_OK;
    }
    const int ndim = copy_count_axes(call);
    if (ndim <= COPY_MAX_DIMS) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "a has %d dimensions that cannot be merged into fewer, variant %s takes at most "
                   "%d",
                   ndim, variant->name, COPY_MAX_DIMS);
}

static int64_t plan_strided(const gm_call *call, gm_plan *plan)
{
    copy_strided_args *args = (copy_strided_args *)plan->args;
    copy_plan_strided(call, args);
    plan->args_size = sizeof *args;
    return args->units;
}

static int64_t plan_scatter(const gm_call *call, gm_plan *plan)
{
    copy_scatter_args *args = (copy_scatter_args *)plan->args;
    copy_plan_scatter(call, args);
    plan->args_size = sizeof *args;
    return args->units;
}

static int64_t plan_shifted(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_span span = gm_aligned_span(call);
    *(copy_shifted_args *)plan->args = (copy_shifted_args){
        .in = call->in[0].data,
        .out = call->out.data,
        .bytes = call->in[0].bytes,
        .head = span.head,
        .vectors = span.vectors,
    };
    plan->args_size = sizeof(copy_shifted_args);
    const bool ends = span.vectors * SPAN_VECTOR < call->out.bytes; /* which have their own block */
    return span.vectors * (SPAN_VECTOR / 4) +
           (ends ? (int64_t)variant->block.x * variant->elements : 0);
}

static const gm_variant *scatter_of(const gm_call *call, const gm_plan *plan)
{
    const bool all = call->parameters[MAX_BLOCKS].integer == 0; /* units have a thread at once */
    return all && ((const copy_scatter_args *)plan->args)->near ? &helper_scatter
                                                                : &helper_scatter_far;
}

static gm_status launch_strided(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    return call->backend->launch(call->out.contiguous ? variant : scatter_of(call, plan), plan,
                                 call->stream);
}

static gm_status copy_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const int64_t bytes = call->in[0].bytes;
    int64_t units = 0;
    if (bytes == 0) {
        return GM_OK; /* no blocks */
    }
    if (variant->layout == GM_STRIDED && !call->out.contiguous) {
        variant = &helper_scatter;
        units = plan_scatter(call, plan);
    } else if (variant->layout == GM_STRIDED) {
        units = plan_strided(call, plan);
    } else if (variant->row == gm_row(call, copy_row_shifted)) {
        units = plan_shifted(variant, call, plan);
    } else {
        copy_args *args = (copy_args *)plan->args;
        *args = (copy_args){call->in[0].data, call->out.data, bytes};
        plan->args_size = sizeof *args;
        units = bytes / 4;
    }
    plan->grid.x = gm_grid_blocks(variant, call, units, call->parameters[MAX_BLOCKS].integer);
    return GM_OK;
}

/* ---- conversions ------------------------------------------------------------------------- */

static gm_status convert_flat(const gm_call *call, const copy_flat_args *args, gm_plan *plan)
{
    *(copy_flat_args *)plan->args = *args;
    plan->args_size = sizeof *args;
    plan->block = helper_convert_flat.block;
    plan->grid.x = args->tiles + (args->vectors * args->vector < call->in[0].size);
    return call->backend->launch(&helper_convert_flat, plan, call->stream);
}

static gm_status convert_numbers(const gm_call *call)
{
    gm_plan plan = {.grid = {0, 1, 1}, .block = helper_convert.block, .trace = call->trace};
    copy_convert_args *args = (copy_convert_args *)plan.args;
    copy_flat_args flat;
    if (call->in[0].size == 0) {
        return GM_OK;
    }
    const gm_status status = copy_plan_convert(call, args);
    if (status != GM_OK) {
        return status;
    }
    if (copy_plan_flat(args, &flat)) {
        return convert_flat(call, &flat, &plan);
    }
    plan.args_size = sizeof *args;
    plan.grid.x = gm_grid_blocks(&helper_convert, call, call->in[0].size, 0);
    return call->backend->launch(args->sides.near ? &helper_convert : &helper_convert_far, &plan,
                                 call->stream);
}

/* ---- the family --------------------------------------------------------------------------- */

/* Byte for byte, whatever the shape. */
static int copy_split(const gm_call *call, int input)
{
    (void)call, (void)input;
    return GM_FLAT;
}

static const gm_operand inputs[] = {{.name = "a"}};
static const gm_parameter parameters[] = {
    [MAX_BLOCKS] = {"max_blocks", 0, INT32_MAX, false}, /* 0: the variant's own cap */
};

const gm_family gm_family_copy = {
    .name = "copy",
    .doc = "copy an array: vectorised access",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 1,
    .parameters = parameters,
    .parameter_count = 1,
    .result = copy_result,
    .choose = copy_choose,
    .keeps_choice = true,
    .split = copy_split,
    .plan = copy_plan,
    .convert = convert_numbers,
    .converts = copy_has_numbers,
};
