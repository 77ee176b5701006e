/* reduce: the family. */
#include "reduce/reduce.h"

#include "backend/backend.h"
#include "cluster_sums.h"
#include "l2_policy.h"
#include "zeros.h"

static gm_status launch_on_zero(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_two_pass(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_last_block(const gm_variant *variant, const gm_call *call, gm_plan *plan);

enum { MANY_BLOCKS, ONE_CLUSTER }; /* how the grid is made: `grid` in the ladder */

#define GM_FAMILY reduce
#define GM_LADDER "reduce/ladder.def"
#include "family.h"

enum { WIDEST = 8 }; /* bytes of an element */
/* Bytes of an array that one block of two_pass reads in a step, and up to which a cluster is faster
 * than a grid. */
enum { BLOCK_BYTES = 32 << 10, CLUSTER_BYTES = 4 << 20 };

static gm_status reduce_result(gm_call *call)
{
    call->out.ndim = 0;
    return GM_OK;
}

static const gm_variant *reduce_choose(const gm_call *call)
{
    const int64_t bytes = call->in[0].bytes;
    const bool small = bytes > BLOCK_BYTES && bytes <= CLUSTER_BYTES;
    return small && call->device->cluster_blocks > 0
               ? gm_first_that_fits(call, GM_ROWS(reduce_row_cluster, reduce_row_two_pass))
               : gm_row(call, reduce_row_two_pass);
}

static gm_status reduce_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *in = &call->in[0];
    const bool narrow = in->itemsize == 4, real = in->kind == 'f';
    /* Of rows that load vectors `elements` counts words of 32 bits. */
    const int64_t steps = variant->elements > 1 ? in->bytes / 4 : in->size;
    *(reduce_args *)plan->args = (reduce_args){
        .in = in->data,
        .out = call->out.data,
        .count = in->size,
        .once = gm_evict_first_of_l2(call->device, (double)in->bytes),
        .type = narrow ? real ? REDUCE_FLOAT32 : REDUCE_INT32
                : real ? REDUCE_FLOAT64
                       : REDUCE_INT64,
    };
    plan->args_size = sizeof(reduce_args);
    plan->grid.x = gm_grid_blocks(variant, call, steps, 0);
    if (variant->grid == ONE_CLUSTER) {
        cluster_plan(variant, call, REDUCE_CHUNK_BYTES, plan);
    }
    return GM_OK;
}

/* For atomics, which add to what is there. */
static gm_status launch_on_zero(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    gm_status status = call->backend->fill(call->out.data, 0, call->out.itemsize, call->stream);
    return status == GM_OK ? call->backend->launch(variant, plan, call->stream) : status;
}

static gm_status add_up_partials(const gm_call *call, const reduce_args *args, unsigned blocks)
{
    gm_plan plan = {.grid = {1, 1, 1}, .block = helper_add_partials.block, .trace = call->trace};
    reduce_args *own = (reduce_args *)plan.args;
    *own = *args;
    own->count = blocks;
    plan.args_size = sizeof *own;
    return call->backend->launch(&helper_add_partials, &plan, call->stream);
}

static gm_status launch_two_pass(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    reduce_args *args = (reduce_args *)plan->args;
    if (plan->grid.x == 1) {
        args->partials = args->out;
        return call->backend->launch(variant, plan, call->stream);
    }
    gm_status status = gm_scratch(call, (int64_t)plan->grid.x * WIDEST, &args->partials);
    if (status != GM_OK) {
        return status;
    }
    status = call->backend->launch(variant, plan, call->stream);
    if (status == GM_OK) {
        status = add_up_partials(call, args, plan->grid.x);
    }
    gm_scratch_release(call, args->partials);
    return status;
}

static gm_status launch_last_block(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    reduce_args *args = (reduce_args *)plan->args;
    void *memory = NULL;
    if (plan->grid.x == 1) {
        return call->backend->launch(variant, plan, call->stream);
    }
    const int64_t bytes = (int64_t)plan->grid.x * WIDEST; /* the counter follows the sums */
    gm_status status = gm_scratch(call, bytes + (int64_t)sizeof(unsigned), &memory);
    if (status != GM_OK) {
        return status;
    }
    args->partials = memory;
    args->blocks_done = (unsigned *)((char *)memory + bytes);
    status = zeros_launch(&helper_zeros, call, args->blocks_done, 1);
    if (status == GM_OK) {
        status = call->backend->launch(variant, plan, call->stream);
    }
    gm_scratch_release(call, memory);
    return status;
}

static const gm_operand inputs[] = {
    {.name = "a",
     .kinds = "iuf",
     .itemsizes = 1 << 4 | 1 << 8,
     .dtypes = "int32, int64, uint32, uint64, float32, float64",
     .suits = gm_is_packed},
};

const gm_family gm_family_reduce = {
    .name = "reduce",
    .doc = "the sum of all elements",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 1,
    .result = reduce_result,
    .choose = reduce_choose,
    .plan = reduce_plan,
};
