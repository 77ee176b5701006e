/* chase: the family. The chain is checked before the first step. */
#include "chase/chase.h"

#include "backend/backend.h"
#include "gather/check.h"

/* Where a variant holds the chain: `grid` in the ladder. */
enum { IN_GLOBAL, IN_SHARED, IN_CLUSTER, IN_CONSTANT };

static gm_status takes_length(const gm_variant *variant, const gm_call *call);
static gm_status launch_with_table(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#define GM_FAMILY chase
#define GM_LADDER "chase/ladder.def"
#include "family.h"

enum { STEPS, START };

static gm_status chase_result(gm_call *call)
{
    const gm_array *next = &call->in[0];
    const int64_t start = call->parameters[START].integer;
    gm_status status = gm_expect_dimensions(call, 0, 1, "");
    if (status != GM_OK) {
        return status;
    }
    if (next->size == 0) {
        return gm_fail(GM_ERROR_VALUE, "next has no elements, expected at least one");
    }
    if (start >= next->size) {
        return gm_fail(GM_ERROR_INDEX, "start %lld is out of bounds for axis 0 with size %lld",
                       (long long)start, (long long)next->size);
    }
    call->out.ndim = 0;
    return GM_OK;
}

static gm_status takes_length(const gm_variant *variant, const gm_call *call)
{
    const int64_t bytes = call->in[0].bytes;
    const int64_t most =
        variant->grid == IN_CONSTANT ? CHASE_CONSTANT_BYTES : call->device->shared_per_block;
    if (bytes <= most) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "next has %lld bytes, variant %s has room for %lld (variant=\"auto\" takes any "
                   "length)",
                   (long long)bytes, variant->name, (long long)most);
}

static gm_status chase_check(const gm_call *call)
{
    return gather_check_index(call, 0, 0, call->in[0].size);
}

static const gm_variant *chase_choose(const gm_call *call)
{
    return gm_row(call, chase_row_cached);
}

static gm_status chase_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *next = &call->in[0];
    *(chase_args *)plan->args = (chase_args){
        .next = (const uint32_t *)next->data,
        .out = (uint32_t *)call->out.data,
        .length = next->size,
        .start = (uint32_t)call->parameters[START].integer,
        .steps = (int)call->parameters[STEPS].integer,
    };
    plan->args_size = sizeof(chase_args);
    plan->grid.x = variant->grid == IN_CLUSTER ? CHASE_CLUSTER : 1;
    if (variant->grid == IN_SHARED || variant->grid == IN_CLUSTER) {
        plan->shared_bytes = (size_t)next->bytes;
    }
    return GM_OK;
}

static gm_status launch_with_table(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    return gm_launch_with_symbol(&symbol_table, call->in[0].data, call->in[0].bytes, variant, call,
                                 plan);
}

static const gm_operand inputs[] = {
    {.name = "next",
     .kinds = "iu",
     .itemsizes = 1 << 4,
     .dtypes = "int32, uint32",
     .reread = true,
     .suits = gm_is_packed},
};
static const gm_parameter parameters[] = {
    [STEPS] = {.name = "steps", .least = 0, .most = INT32_MAX},
    [START] = {.name = "start", .least = 0, .most = UINT32_MAX},
};

const gm_family gm_family_chase = {
    .name = "chase",
    .doc = "next[next[...]]: the latency of dependent loads",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 1,
    .parameters = parameters,
    .parameter_count = 2,
    .result = chase_result,
    .check = chase_check,
    .choose = chase_choose,
    .plan = chase_plan,
};
