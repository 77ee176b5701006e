/* strided_read: the family. */
#include "strided_read/strided_read.h"

#include "slice.h"
#include "strided_read/launches.h"

static gm_status takes_words(const gm_variant *variant, const gm_call *call);

#define GM_FAMILY strided_read
#define GM_LADDER "strided_read/ladder.def"
#include "family.h"

enum { WORD = 4 /* bytes */ };

static gm_status find_slice(const gm_call *call, gm_slice *slice)
{
    return gm_slice_of(call->in[0].shape[0], call->parameters[GM_SLICE_OFFSET].integer,
                       call->parameters[GM_SLICE_STRIDE].integer, slice);
}

static gm_status strided_read_result(gm_call *call)
{
    gm_slice slice;
    gm_status status = gm_expect_dimensions(call, 0, 1, "");
    if (status != GM_OK) {
        return status;
    }
    status = find_slice(call, &slice);
    call->out.ndim = 1;
    call->out.shape[0] = slice.count;
    return status == GM_OK ? gm_slice_check_threads(call) : status;
}

static gm_status takes_words(const gm_variant *variant, const gm_call *call)
{
    const unsigned beyond = (unsigned)((uintptr_t)call->out.data % WORD);
    if (beyond == 0) {
        return GM_OK;
    }
    return gm_fail(
        GM_ERROR_VALUE,
        "variant %s needs a result that begins at a multiple of %d bytes, this one is %u "
        "beyond one (variant=\"auto\" takes any alignment)",
        variant->name, WORD, beyond);
}

/* Measured on an H200: what is loaded once gains nothing from the L1, but loads in flight count,
 * unless elements are further apart than two sectors; those that are small and close are words. */
static const gm_variant *strided_read_choose(const gm_call *call)
{
    int best = strided_read_row_unroll4;
    const gm_array *in = &call->in[0];
    gm_slice slice;
    if (find_slice(call, &slice) == GM_OK) {
        if (gm_slice_threads(call) == 0 && gm_slice_is_copy(&slice, in)) {
            return gm_row(call, strided_read_row_strided);
        }
        if (gm_slice_stride(&slice, in) >= 2 * GM_SECTOR) {
            best = strided_read_row_cached;
        } else if (in->itemsize < WORD && gm_slice_stride(&slice, in) < GM_SECTOR / 2) {
            best = strided_read_row_words;
        }
    }
    return gm_first_that_fits(call,
                              GM_ROWS(best, strided_read_row_unroll4, strided_read_row_strided));
}

static gm_status strided_read_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    gm_slice slice;
    strided_read_args *args = (strided_read_args *)plan->args;
    gm_status status = find_slice(call, &slice);
    if (status != GM_OK || call->out.bytes == 0) {
        return status; /* no blocks */
    }
    *args = (strided_read_args){
        .in = call->in[0].data,
        .out = call->out.data,
        .count = slice.count,
        .start = slice.start,
        .step = slice.step,
        .itemsize = (int)call->in[0].itemsize,
    };
    plan->args_size = sizeof *args;
    const bool words = variant == gm_row(call, strided_read_row_words);
    const int64_t each = words ? WORD / args->itemsize : 1;
    gm_slice_plan_blocks(variant, call, slice.count / each + (slice.count % each != 0), plan);
    return GM_OK;
}

static const gm_operand inputs[] = {{.name = "a"}};

const gm_family gm_family_strided_read = {
    .name = "strided_read",
    .doc = "a[offset::stride]: alignment and coalescing of loads",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 1,
    .parameters = gm_slice_parameters,
    .parameter_count = GM_SLICE_PARAMETERS,
    .result = strided_read_result,
    .choose = strided_read_choose,
    .plan = strided_read_plan,
};
