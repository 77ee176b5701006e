/* strided_write: the family. The first input is what is written to. */
#include "strided_write/strided_write.h"

#include "slice.h"
#include "strided_write/launches.h"

#define GM_FAMILY strided_write
#define GM_LADDER "strided_write/ladder.def"
#include "family.h"

enum { OUT, A };

static gm_status find_slice(const gm_call *call, gm_slice *slice)
{
    return gm_slice_of(call->in[OUT].shape[0], call->parameters[GM_SLICE_OFFSET].integer,
                       call->parameters[GM_SLICE_STRIDE].integer, slice);
}

static gm_status strided_write_result(gm_call *call)
{
    for (int i = OUT; i <= A; i++) {
        gm_status status = gm_expect_dimensions(call, i, 1, "");
        if (status != GM_OK) {
            return status;
        }
    }
    gm_slice slice;
    gm_status status = find_slice(call, &slice);
    if (status == GM_OK && call->in[A].shape[0] != slice.count) {
        return gm_fail(GM_ERROR_VALUE,
                       "a has shape (%lld,), expected (%lld,): that of out[offset::stride] with "
                       "offset %lld and stride %lld",
                       (long long)call->in[A].shape[0], (long long)slice.count,
                       (long long)call->parameters[GM_SLICE_OFFSET].integer,
                       (long long)call->parameters[GM_SLICE_STRIDE].integer);
    }
    return status == GM_OK ? gm_slice_check_threads(call) : status;
}

/* Measured on an H200: stores in flight count where more than two elements of 1 or 2 bytes share a
 * sector; larger ones lose 3 to 8 percent by them. */
static const gm_variant *strided_write_choose(const gm_call *call)
{
    int best = strided_write_row_unroll4;
    const gm_array *out = &call->in[OUT], *in = &call->in[A];
    gm_slice slice;
    if (find_slice(call, &slice) == GM_OK) {
        if (gm_slice_threads(call) == 0 && in->contiguous && gm_slice_is_copy(&slice, out)) {
            return gm_row(call, strided_write_row_strided);
        }
        if (in->itemsize > 2 || gm_slice_stride(&slice, out) >= GM_SECTOR / 2) {
            best = strided_write_row_cached;
        }
    }
    return gm_first_that_fits(call, GM_ROWS(best, strided_write_row_any));
}

static gm_status strided_write_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *out = &call->in[OUT], *in = &call->in[A];
    gm_slice slice;
    strided_write_args *args = (strided_write_args *)plan->args;
    gm_status status = find_slice(call, &slice);
    if (status != GM_OK || in->bytes == 0) {
        return status; /* no blocks */
    }
    *args = (strided_write_args){
        .in = in->data,
        .out = out->data,
        .count = slice.count,
        .start = slice.start,
        .step = slice.step,
        .itemsize = (int)in->itemsize,
        .in_stride = in->strides[0],
        .out_stride = slice.step * out->strides[0],
    };
    int64_t units = slice.count;
    if (variant->layout == GM_STRIDED) {
        args->out += slice.start * out->strides[0];
        args->width = gm_width_dividing((uintptr_t)args->in | (uintptr_t)args->out |
                                        (uintptr_t)args->in_stride | (uintptr_t)args->out_stride |
                                        (uintptr_t)args->itemsize);
        args->pieces = args->itemsize / args->width;
        units *= args->pieces;
    }
    plan->args_size = sizeof *args;
    gm_slice_plan_blocks(variant, call, units, plan);
    return GM_OK;
}

static const gm_operand inputs[] = {[OUT] = {.name = "out"}, [A] = {.name = "a"}};

const gm_family gm_family_strided_write = {
    .name = "strided_write",
    .doc = "out[offset::stride] = a: alignment and coalescing of stores",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 2,
    .in_place = true,
    .parameters = gm_slice_parameters,
    .parameter_count = GM_SLICE_PARAMETERS,
    .result = strided_write_result,
    .choose = strided_write_choose,
    .plan = strided_write_plan,
};
