/* shift_points: the family. (n, 2) is an array of structures, (2, n) a structure of arrays. */
#include "shift_points/shift_points.h"

#include "gpumem.h"

/* The layout that a variant is for: `grid` in the ladder. */
enum { EITHER_LAYOUT, AOS, SOA };

static gm_status takes_layout(const gm_variant *variant, const gm_call *call);
static gm_status takes_pairs(const gm_variant *variant, const gm_call *call);

#define GM_FAMILY shift_points
#define GM_LADDER "shift_points/ladder.def"
#include "family.h"

enum { DX, DY };

/* 2 x 2 can be read either way: as points in a row, unless a named variant says otherwise. */
static bool is_soa(const gm_call *call)
{
    const int64_t *shape = call->in[0].shape;
    bool by_name = call->variant && call->variant->grid == SOA;
    return shape[0] == 2 && (shape[1] != 2 || by_name);
}

static gm_status shift_points_result(gm_call *call)
{
    const gm_array *in = &call->in[0];
    if (in->ndim != 2) {
        return gm_fail(GM_ERROR_VALUE, "p has %d dimension%s, expected shape (n, 2) or (2, n)",
                       in->ndim, GM_PLURAL(in->ndim));
    }
    if (in->shape[0] != 2 && in->shape[1] != 2) {
        return gm_fail(GM_ERROR_VALUE, "p has shape (%lld, %lld), expected (n, 2) or (2, n)",
                       (long long)in->shape[0], (long long)in->shape[1]);
    }
    if (call->variant && call->variant->takes) { /* before pieces have another shape */
        gm_status status = takes_layout(call->variant, call);
        if (status != GM_OK) {
            return status;
        }
    }
    call->out.ndim = 2;
    call->out.shape[0] = in->shape[0];
    call->out.shape[1] = in->shape[1];
    return GM_OK;
}

/* Does every pair of numbers begin at a multiple of its own size? */
static bool is_aligned(const gm_call *call)
{
    uintptr_t bits = (uintptr_t)call->in[0].data | (uintptr_t)call->out.data;
    return bits % (uintptr_t)(2 * call->in[0].itemsize) == 0;
}

static gm_status takes_layout(const gm_variant *variant, const gm_call *call)
{
    const int64_t *shape = call->in[0].shape;
    bool soa = variant->grid == SOA;
    if (shape[soa ? 0 : 1] == 2) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE, "p has shape (%lld, %lld), variant %s takes %s",
                   (long long)shape[0], (long long)shape[1], variant->name,
                   soa ? "(2, n)" : "(n, 2)");
}

static gm_status takes_pairs(const gm_variant *variant, const gm_call *call)
{
    gm_status status = takes_layout(variant, call);
    if (status == GM_OK && !is_aligned(call)) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s needs p and out aligned to pairs of numbers, %d bytes "
                       "(variant=\"auto\" takes any alignment)",
                       variant->name, (int)(2 * call->in[0].itemsize));
    }
    return status;
}

static const gm_variant *shift_points_choose(const gm_call *call)
{
    bool soa = is_soa(call);
    return gm_first_that_fits(call,
                              GM_ROWS(shift_points_row_vec4,
                                      soa ? shift_points_row_soa_vec2 : shift_points_row_aos_vec2,
                                      soa ? shift_points_row_soa : shift_points_row_aos));
}

static gm_status shift_points_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *in = &call->in[0];
    shift_points_args *args = (shift_points_args *)plan->args;
    *args = (shift_points_args){
        .in = in->data,
        .out = call->out.data,
        .count = in->size / 2,
        .dx = call->parameters[DX].real,
        .dy = call->parameters[DY].real,
        .itemsize = (int)in->itemsize,
        .soa = is_soa(call),
    };
    plan->args_size = sizeof *args;
    if (args->count > 0) {
        /* vec4 counts in points of 8 bytes, whatever their size; a vec2 is a point. */
        int64_t units = variant->alignment ? in->bytes / 8 : args->count;
        plan->grid.x = gm_grid_blocks(variant, call, units, 0);
    }
    return GM_OK;
}

static int shift_points_split(const gm_call *call, int input)
{
    (void)input;
    return is_soa(call) ? GM_UNCUT : 0;
}

static const gm_operand inputs[] = {
    {.name = "p",
     .kinds = "f",
     .itemsizes = 1 << 4 | 1 << 8,
     .dtypes = "float32, float64",
     .suits = gm_is_packed},
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
