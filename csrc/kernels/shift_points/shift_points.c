/* shift_points: the family. (n, 2) is an array of structures, (2, n) a structure of arrays. */
#include "shift_points/shift_points.h"

#include <string.h>

#define GM_FAMILY shift_points
#define GM_LADDER "shift_points/ladder.def"
#include "family.h"

enum { DX, DY };

/* 2 x 2 can be read either way: as points in a row, unless soa is asked for by name. */
static bool is_soa(const gm_call *call)
{
    const int64_t *shape = call->in[0].shape;
    bool by_name = call->variant && strcmp(call->variant->name, "soa") == 0;
    return shape[0] == 2 && (shape[1] != 2 || by_name);
}

static gm_status shift_points_result(gm_call *call)
{
    const gm_array *in = &call->in[0];
    if (in->ndim != 2) {
        return gm_fail(GM_ERROR_VALUE, "p has %d dimensions, expected shape (n, 2) or (2, n)",
                       in->ndim);
    }
    if (in->shape[0] != 2 && in->shape[1] != 2) {
        return gm_fail(GM_ERROR_VALUE, "p has shape (%lld, %lld), expected (n, 2) or (2, n)",
                       (long long)in->shape[0], (long long)in->shape[1]);
    }
    if (call->variant && is_soa(call) != (strcmp(call->variant->name, "soa") == 0)) {
        return gm_fail(GM_ERROR_VALUE, "p has shape (%lld, %lld), variant %s takes %s",
                       (long long)in->shape[0], (long long)in->shape[1], call->variant->name,
                       is_soa(call) ? "(n, 2)" : "(2, n)");
    }
    call->out.ndim = 2;
    call->out.shape[0] = in->shape[0];
    call->out.shape[1] = in->shape[1];
    return GM_OK;
}

/* Does every point begin at a multiple of its own size? */
static bool is_aligned(const gm_call *call)
{
    uintptr_t bits = (uintptr_t)call->in[0].data | (uintptr_t)call->out.data;
    return bits % (uintptr_t)(2 * call->in[0].itemsize) == 0;
}

static const gm_variant *shift_points_choose(const gm_call *call)
{
    return gm_find_variant(call->family, is_soa(call)       ? "soa"
                                         : is_aligned(call) ? "aos_vec2"
                                                            : "aos");
}

static gm_status shift_points_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *in = &call->in[0];
    shift_points_args *args = (shift_points_args *)plan->args;
    if (strcmp(variant->name, "aos_vec2") == 0 && !is_aligned(call)) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant aos_vec2 needs p and out aligned to their points of %d bytes "
                       "(variant=\"auto\" takes any alignment)",
                       (int)(2 * in->itemsize));
    }
    *args = (shift_points_args){
        .in = in->data,
        .out = call->out.data,
        .count = in->size / 2,
        .dx = call->parameters[DX].real,
        .dy = call->parameters[DY].real,
        .itemsize = (int)in->itemsize,
    };
    plan->args_size = sizeof *args;
    if (args->count > 0) {
        plan->grid.x = gm_grid_blocks(variant, call, args->count, 0);
    }
    return GM_OK;
}

static int shift_points_split(const gm_call *call, int input)
{
    (void)input;
    return is_soa(call) ? GM_UNCUT : 0;
}

static const gm_operand inputs[] = {
    {.name = "p", .kinds = "f", .itemsizes = 1 << 4 | 1 << 8, .dtypes = "float32, float64"},
};
static const gm_parameter parameters[] = {
    [DX] = {.name = "dx", .real = true},
    [DY] = {.name = "dy", .real = true},
};

const gm_family gm_family_shift_points = {
    .name = "shift_points",
    .doc = "p + (dx, dy): array of structures or structure of arrays",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 1,
    .parameters = parameters,
    .parameter_count = 2,
    .result = shift_points_result,
    .choose = shift_points_choose,
    .split = shift_points_split,
    .plan = shift_points_plan,
};
