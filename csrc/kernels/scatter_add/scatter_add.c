/* scatter_add: the family. The first input is what is added to; unless the index is wrapped or
 * clipped, it is checked before. */
#include "scatter_add/scatter_add.h"

#include <string.h>

#include "backend/backend.h"
#include "gather/check.h"
#include "gpumem.h"

static gm_status takes_shared(const gm_variant *variant, const gm_call *call);
static gm_status launch_checked(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#define GM_FAMILY scatter_add
#define GM_LADDER "scatter_add/ladder.def"
#include "family.h"

enum { OUT, INDEX, A };
/* Elements of out, measured on an H200: */
enum {
    FEW = 256, /* up to here lanes of a warp meet often enough for `warp_aggregated` to pay, */
    LOOPS = 4, /* and from here on the loops of `shared` do, beside that */
};
enum { LARGE = 1 << 18 /* elements: fewer are added sooner by more threads */ };

static gm_status scatter_add_result(gm_call *call)
{
    const gm_array *index = &call->in[INDEX], *in = &call->in[A];
    gm_status status = gm_expect_dimensions(call, OUT, 1, "");
    if (status != GM_OK) {
        return status;
    }
    if (in->ndim != index->ndim ||
        memcmp(in->shape, index->shape, (size_t)in->ndim * sizeof *in->shape) != 0) {
        char given[256], wanted[256];
        gm_print_shape(in, given, sizeof given);
        gm_print_shape(index, wanted, sizeof wanted);
        return gm_fail(GM_ERROR_VALUE, "a has shape %s, expected that of index, %s", given, wanted);
    }
    return gather_mode_suits(call, OUT, INDEX);
}

/* Has shared memory an instruction for the addition? For others it takes a loop, and the more
 * threads add to one address, the longer. */
static bool adds_at_once_in_shared(const gm_array *out)
{
    return out->itemsize == 4 && out->kind != 'f';
}

/* A block's last additions, one for each of its sums, lie side by side: they cost less than as many
 * anywhere. */
static const gm_variant *scatter_add_choose(const gm_call *call)
{
    const gm_array *out = &call->in[OUT];
    const gm_variant *shared = gm_row(call, scatter_add_row_shared);
    const int64_t count = call->in[A].size;
    if (gather_is_short(call, INDEX)) {
        return gm_row(call, scatter_add_row_checked);
    }
    const int64_t blocks = gm_grid_blocks(shared, call, count, 0);
    const int64_t least = adds_at_once_in_shared(out) ? 1 : LOOPS;
    if (out->size >= least && count / blocks >= out->size &&
        count >= (int64_t)shared->block.x * shared->elements && gm_variant_can(shared, call)) {
        return shared;
    }
    return gm_row(call, out->size <= FEW ? scatter_add_row_warp_aggregated
                        : count >= LARGE ? scatter_add_row_runs
                                         : scatter_add_row_reduction);
}

static gm_status takes_shared(const gm_variant *variant, const gm_call *call)
{
    const gm_array *out = &call->in[OUT];
    return out->bytes <= SCATTER_ADD_SHARED
               ? GM_OK
               : gm_fail(GM_ERROR_VALUE, "variant %s has room for %d bytes, out has %lld",
                         variant->name, SCATTER_ADD_SHARED, (long long)out->bytes);
}

static gm_status scatter_add_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *out = &call->out, *index = &call->in[INDEX], *in = &call->in[A];
    const bool narrow = in->itemsize == 4, real = in->kind == 'f';
    if (in->bytes == 0) {
        return GM_OK; /* no blocks */
    }
    *(scatter_add_args *)plan->args = (scatter_add_args){
        .out = out->data,
        .index = index->data,
        .in = in->data,
        .length = out->size,
        .count = in->size,
        .type = narrow ? real ? SCATTER_ADD_FLOAT32 : SCATTER_ADD_INT32
                : real ? SCATTER_ADD_FLOAT64
                       : SCATTER_ADD_INT64,
        .index_size = (int)index->itemsize,
        .mode = gather_mode_of(call),
    };
    plan->args_size = sizeof(scatter_add_args);
    plan->grid.x = gm_grid_blocks(variant, call, in->size, 0);
    if (variant->takes == takes_shared) {
        plan->shared_bytes = (size_t)out->bytes;
    }
    return GM_OK;
}

static gm_status scatter_add_check(const gm_call *call)
{
    const gm_variant *variant = call->variant ? call->variant : scatter_add_choose(call);
    return gather_check_before(call, INDEX, call->in[OUT].shape[0],
                               variant == gm_row(call, scatter_add_row_checked));
}

static gm_status launch_checked(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    return gather_is_short(call, INDEX)
               ? gather_launch_checked(variant, call, plan,
                                       &((scatter_add_args *)plan->args)->verdict, INDEX,
                                       call->in[OUT].shape[0])
               : call->backend->launch(variant, plan, call->stream);
}

#define NUMBERS                                                                                    \
    .kinds = "iuf", .itemsizes = 1 << 4 | 1 << 8,                                                  \
    .dtypes = "int32, int64, uint32, uint64, float32, float64", .suits = gm_is_packed

static const gm_operand inputs[] = {
    [OUT] = {.name = "out", .reread = true, NUMBERS},
    [INDEX] = {.name = "index",
               .kinds = "i",
               .itemsizes = 1 << 4 | 1 << 8,
               .dtypes = "int32, int64",
               .other_dtype = true,
               .suits = gm_is_packed},
    [A] = {.name = "a", NUMBERS},
};

static const gm_parameter parameters[] = {GATHER_MODE_PARAMETER};

const gm_family gm_family_scatter_add = {
    .name = "scatter_add",
    .doc = "out[index] += a: atomic additions where data says",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 3,
    .parameters = parameters,
    .parameter_count = 1,
    .in_place = true,
    .result = scatter_add_result,
    .check = scatter_add_check,
    .choose = scatter_add_choose,
    .plan = scatter_add_plan,
};
