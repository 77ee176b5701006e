/* histogram: the family. */
#include "histogram/histogram.h"

#include "backend/backend.h"
#include "l2_policy.h"

static gm_status launch_on_zeros(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#define GM_FAMILY histogram
#define GM_LADDER "histogram/ladder.def"
#include "family.h"

static gm_status histogram_result(gm_call *call)
{
    call->out.ndim = 1;
    call->out.shape[0] = HISTOGRAM_BINS;
    return GM_OK;
}

static const gm_variant *histogram_choose(const gm_call *call)
{
    return gm_row(call, histogram_row_lane_banks);
}

/* No block counts more bytes than its counters of 32 bits can. */
static const int64_t most_per_block = (int64_t)1 << 31;

static gm_status histogram_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *in = &call->in[0];
    *(histogram_args *)plan->args = (histogram_args){
        .in = (const unsigned char *)in->data,
        .out = (unsigned long long *)call->out.data,
        .bytes = in->bytes,
        .once = gm_evict_first_of_l2(call->device, (double)in->bytes),
    };
    plan->args_size = sizeof(histogram_args);
    plan->grid.x = gm_grid_blocks(variant, call, in->bytes, 0);
    if (in->bytes / most_per_block >= plan->grid.x) {
        plan->grid.x = (unsigned)(in->bytes / most_per_block) + 1;
    }
    return GM_OK;
}

/* Blocks add their counts to what is there. */
static gm_status launch_on_zeros(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    gm_status status = call->backend->fill(call->out.data, 0, call->out.bytes, call->stream);
    return status == GM_OK ? call->backend->launch(variant, plan, call->stream) : status;
}

static const gm_operand inputs[] = {
    {.name = "a", .kinds = "u", .itemsizes = 1 << 1, .dtypes = "uint8", .suits = gm_is_packed},
};

const gm_family gm_family_histogram = {
    .name = "histogram",
    .doc = "how often each byte occurs",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 1,
    .result_kind = 'u',
    .result_bytes = sizeof(uint64_t),
    .result = histogram_result,
    .choose = histogram_choose,
    .plan = histogram_plan,
};
