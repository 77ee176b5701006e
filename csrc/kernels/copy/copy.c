/* copy: the family. Shapes, the choice for "auto", and the plans of its kernels. */
#include "copy/copy.h"

#include <string.h>

#include "backend/backend.h"
#include "copy/launches.h"

static gm_status takes_dimensions(const gm_variant *variant, const gm_call *call);

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

/*
 * A short copy waits for memory once and wants all of it in flight; a long one wants a narrow
 * window of memory. Measured on an H200, the two meet at a wave of threads with 64 bytes each.
 */
static const gm_variant *copy_choose(const gm_call *call)
{
    const gm_device_properties *device = call->device;
    int64_t wave = (int64_t)device->multiprocessors * device->threads_per_multiprocessor * 64;
    if (!call->in[0].contiguous) {
        return gm_row(call, copy_row_strided);
    }
    if (call->in[0].bytes <= wave) {
        return gm_first_that_fits(call, GM_ROWS(copy_row_vec4_unrolled, copy_row_memcpy));
    }
    return gm_first_that_fits(call,
                              GM_ROWS(copy_row_vec4_prefetch, copy_row_vec4, copy_row_memcpy));
}

/* The input in as few dimensions as possible, innermost first; that is a run of bytes. */
static int merge_dimensions(const gm_array *in, int64_t *extent, int64_t *stride)
{
    int last = 0;
    extent[0] = in->itemsize;
    stride[0] = 1;
    for (int d = in->ndim - 1; d >= 0; d--) {
        if (in->shape[d] == 1) {
            continue;
        }
        if (in->strides[d] == extent[last] * stride[last]) {
            extent[last] *= in->shape[d];
        } else {
            last++;
            extent[last] = in->shape[d];
            stride[last] = in->strides[d];
        }
    }
    return last + 1;
}

/* Each merged dimension has at least two elements: memory has no room for more than 32 of them,
 * unless elements share their addresses. */
static gm_status takes_dimensions(const gm_variant *variant, const gm_call *call)
{
    int64_t extent[GM_MAX_DIMS + 1], stride[GM_MAX_DIMS + 1];
    int ndim =
        call->in[0].ndim > COPY_MAX_DIMS ? merge_dimensions(&call->in[0], extent, stride) : 0;
    if (call->in[0].bytes == 0 || ndim <= COPY_MAX_DIMS) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "a has %d dimensions that cannot be merged into fewer, variant %s takes at most "
                   "%d",
                   ndim, variant->name, COPY_MAX_DIMS);
}

static int64_t plan_strided(const gm_call *call, gm_plan *plan)
{
    const gm_array *in = &call->in[0];
    copy_strided_args *args = (copy_strided_args *)plan->args;
    *args = (copy_strided_args){.in = in->data, .out = call->out.data};
    plan->args_size = sizeof *args;

    int64_t extent[GM_MAX_DIMS + 1], stride[GM_MAX_DIMS + 1];
    args->ndim = merge_dimensions(in, extent, stride);

    /* The widest unit that divides the innermost run and every address. */
    uintptr_t bits = (uintptr_t)in->data | (uintptr_t)call->out.data | (uintptr_t)extent[0];
    for (int d = 1; d < args->ndim; d++) {
        bits |= (uintptr_t)stride[d];
    }
    args->width = gm_width_dividing(bits);
    extent[0] /= args->width;
    stride[0] = args->width;

    /* Outermost first; a run that is a single unit needs no dimension. */
    int innermost = extent[0] == 1 && args->ndim > 1;
    args->ndim -= innermost;
    for (int d = 0; d < args->ndim; d++) {
        args->extent[d] = extent[args->ndim - 1 - d + innermost];
        args->stride[d] = stride[args->ndim - 1 - d + innermost];
    }
    args->units = in->bytes / args->width;
    return args->units;
}

static gm_status copy_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const int64_t bytes = call->in[0].bytes;
    int64_t units = 0;
    if (bytes == 0) {
        return GM_OK; /* no blocks */
    }
    if (variant->layout == GM_STRIDED) {
        units = plan_strided(call, plan);
    } else {
        copy_args *args = (copy_args *)plan->args;
        *args = (copy_args){call->in[0].data, call->out.data, bytes};
        plan->args_size = sizeof *args;
        units = bytes / 4;
    }
    plan->grid.x = gm_grid_blocks(variant, call, units, call->parameters[MAX_BLOCKS].integer);
    return GM_OK;
}

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
    .split = copy_split,
    .plan = copy_plan,
};
