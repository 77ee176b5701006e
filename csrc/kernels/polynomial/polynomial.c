/* polynomial: the family. Constant memory is filled on the stream of the call; calls take turns. */
#include "polynomial/polynomial.h"

#include <string.h>

#include "backend/backend.h"

/* Where a variant holds the coefficients: `grid` in the ladder. */
enum { IN_GLOBAL, IN_LOCAL, IN_SHARED, IN_CONSTANT, IN_CONSTANT_COPIES, IN_REGISTERS };

static gm_status takes_terms(const gm_variant *variant, const gm_call *call);
static gm_status launch_with_table(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_with_copies(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#define GM_FAMILY polynomial
#define GM_LADDER "polynomial/ladder.def"
#include "family.h"

enum { X, COEFFICIENTS };
enum { CARVEOUT };
enum { NO_CARVEOUT = -1 };

static gm_status polynomial_result(gm_call *call)
{
    const gm_array *x = &call->in[X], *c = &call->in[COEFFICIENTS];
    gm_status status = gm_expect_dimensions(call, COEFFICIENTS, 1, "");
    if (status != GM_OK) {
        return status;
    }
    if (c->itemsize != x->itemsize) {
        return gm_fail(GM_ERROR_TYPE, "coefficients has dtype float%d, expected that of x, float%d",
                       8 * (int)c->itemsize, 8 * (int)x->itemsize);
    }
    call->out.ndim = x->ndim;
    memcpy(call->out.shape, x->shape, (size_t)x->ndim * sizeof *x->shape);
    return GM_OK;
}

/* Coefficients that a variant has room for. */
static int64_t most_terms(const gm_variant *variant, const gm_call *call)
{
    int64_t size = call->in[X].itemsize;
    switch (variant->grid) {
    case IN_LOCAL: return POLYNOMIAL_LOCAL;
    case IN_SHARED: return call->device->shared_per_block / size;
    case IN_CONSTANT: return POLYNOMIAL_CONSTANT_BYTES / size;
    case IN_CONSTANT_COPIES: return POLYNOMIAL_CONSTANT_BYTES / size / POLYNOMIAL_LANES;
    case IN_REGISTERS: return POLYNOMIAL_REGISTERS;
    default: return INT64_MAX;
    }
}

static gm_status takes_terms(const gm_variant *variant, const gm_call *call)
{
    const int64_t terms = call->in[COEFFICIENTS].size, most = most_terms(variant, call);
    if (terms <= most) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "coefficients has %lld elements, variant %s has room for %lld of them "
                   "(variant=\"auto\" takes any number)",
                   (long long)terms, variant->name, (long long)most);
}

static const gm_variant *polynomial_choose(const gm_call *call)
{
    return gm_first_that_fits(call,
                              GM_ROWS(polynomial_row_register_vec4, polynomial_row_shared_vec4,
                                      polynomial_row_register, polynomial_row_constant,
                                      polynomial_row_shared, polynomial_row_readonly));
}

static gm_status polynomial_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *x = &call->in[X], *c = &call->in[COEFFICIENTS];
    polynomial_args *args = (polynomial_args *)plan->args;
    int64_t carveout = call->parameters[CARVEOUT].integer;

    *args = (polynomial_args){
        .in = x->data,
        .coefficients = c->data,
        .out = call->out.data,
        .count = x->size,
        .terms = c->size,
        .itemsize = (int)x->itemsize,
    };
    plan->args_size = sizeof *args;
    plan->has_carveout = carveout != NO_CARVEOUT;
    plan->carveout = (int)carveout;
    if (variant->grid == IN_SHARED) {
        plan->shared_bytes = (size_t)c->bytes;
    }
    if (args->count > 0) {
        /* Variants with vectors count in 4 bytes, whatever the size of a point. */
        int64_t units = variant->alignment ? x->bytes / 4 : args->count;
        plan->grid.x = gm_grid_blocks(variant, call, units, 0);
    }
    return GM_OK;
}

/* ---- constant memory ---------------------------------------------------------------------- */

static gm_status launch_with_table(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const polynomial_args *args = (const polynomial_args *)plan->args;
    return gm_launch_with_symbol(&symbol_table, args->coefficients, args->terms * args->itemsize,
                                 variant, call, plan);
}

static gm_status launch_with_copies(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const polynomial_args *args = (const polynomial_args *)plan->args;
    int64_t units = args->terms * POLYNOMIAL_LANES, bytes = units * args->itemsize;
    gm_plan spread = {.grid = {0, 1, 1}, .block = helper_spread.block};
    void *copies = NULL;
    gm_status status = gm_scratch(call, bytes, &copies);
    if (status != GM_OK) {
        return status;
    }
    *(polynomial_spread_args *)spread.args = (polynomial_spread_args){
        .coefficients = args->coefficients,
        .copies = copies,
        .terms = args->terms,
        .itemsize = args->itemsize,
    };
    spread.args_size = sizeof(polynomial_spread_args);
    if (units > 0) {
        spread.grid.x = gm_grid_blocks(&helper_spread, call, units, 0);
        status = call->backend->launch(&helper_spread, &spread, call->stream);
    }
    if (status == GM_OK) {
        status = gm_launch_with_symbol(&symbol_copies, copies, bytes, variant, call, plan);
    }
    gm_scratch_release(call, copies);
    return status;
}

static int polynomial_split(const gm_call *call, int input)
{
    (void)call;
    return input == X ? GM_FLAT : GM_UNCUT;
}

static const gm_operand inputs[] = {
    [X] = {.name = "x",
           .kinds = "f",
           .itemsizes = 1 << 4 | 1 << 8,
           .dtypes = "float32, float64",
           .suits = gm_is_packed},
    [COEFFICIENTS] = {.name = "coefficients",
                      .kinds = "f",
                      .itemsizes = 1 << 4 | 1 << 8,
                      .dtypes = "float32, float64",
                      .reread = true,
                      .suits = gm_is_packed},
};
static const gm_parameter parameters[] = {
    [CARVEOUT] = {.name = "carveout", .least = NO_CARVEOUT, .most = 100},
};

const gm_family gm_family_polynomial = {
    .name = "polynomial",
    .doc = "Horner's rule, the coefficients in one memory space or another",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 2,
    .parameters = parameters,
    .parameter_count = 1,
    .result = polynomial_result,
    .choose = polynomial_choose,
    .split = polynomial_split,
    .plan = polynomial_plan,
};
