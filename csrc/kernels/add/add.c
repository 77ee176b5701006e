/* add: the family. */
#include "add/add.h"

#include <string.h>

#include "backend/backend.h"
#include "span.h"

static gm_status launch_with_hints(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#define GM_FAMILY add
#define GM_LADDER "add/ladder.def"
#include "family.h"

enum { A, B };

static const char *kind_name(const gm_array *array)
{
    return array->kind == 'f' ? "float" : array->kind == 'i' ? "int" : "uint";
}

static gm_status add_result(gm_call *call)
{
    const gm_array *a = &call->in[A], *b = &call->in[B];
    if (b->kind != a->kind || b->itemsize != a->itemsize) {
        return gm_fail(GM_ERROR_TYPE, "b has dtype %s%d, expected that of a, %s%d", kind_name(b),
                       8 * (int)b->itemsize, kind_name(a), 8 * (int)a->itemsize);
    }
    if (a->ndim != b->ndim || memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) != 0) {
        char of_a[256], of_b[256];
        gm_print_shape(a, of_a, sizeof of_a);
        gm_print_shape(b, of_b, sizeof of_b);
        return gm_fail(GM_ERROR_VALUE, "b has shape %s, expected that of a, %s", of_b, of_a);
    }
    call->out.ndim = a->ndim;
    memcpy(call->out.shape, a->shape, (size_t)a->ndim * sizeof *a->shape);
    return GM_OK;
}

/* Are the three equally far behind a multiple of 16 bytes? */
static bool equally_far(const gm_call *call)
{
    const uintptr_t a = (uintptr_t)call->in[A].data, b = (uintptr_t)call->in[B].data;
    const uintptr_t out = (uintptr_t)call->out.data;
    return ((a ^ out) | (b ^ out)) % SPAN_VECTOR == 0;
}

/* The memory that the arrays are in decides how the kernel reaches them; memory of the device, at
 * once. */
static const gm_variant *add_choose(const gm_call *call)
{
    const int on_device = equally_far(call) ? add_row_explicit : add_row_shifted;
    if (call->in[A].memory == GM_DEVICE) {
        return gm_row(call, on_device);
    }
    return gm_first_that_fits(call,
                              GM_ROWS(add_row_managed_prefetch, add_row_zero_copy, on_device));
}

/* Words of 32 bits, of which a thread has as many as a vector. The numbers of the ends have threads
 * in other warps, which wait for no vectors. */
static int64_t words_of(const gm_array *a, gm_span span)
{
    const int64_t warps = (span.vectors + GM_WARP - 1) / GM_WARP;
    const int64_t ends = a->size - span.vectors * SPAN_VECTOR / a->itemsize;
    return span.vectors > 0 ? (warps * GM_WARP + ends) * (SPAN_VECTOR / 4) : a->bytes / 4;
}

static gm_status add_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *a = &call->in[A], *b = &call->in[B];
    const bool narrow = a->itemsize == 4, real = a->kind == 'f';
    const bool vectors = equally_far(call) || variant == gm_row(call, add_row_shifted);
    const gm_span span = vectors ? gm_aligned_span(call) : (gm_span){.vectors = 0};
    *(add_args *)plan->args = (add_args){
        .a = a->data,
        .b = b->data,
        .out = call->out.data,
        .bytes = a->bytes,
        .head = span.head,
        .vectors = span.vectors,
        .type = narrow ? real ? ADD_FLOAT32 : ADD_INT32
                : real ? ADD_FLOAT64
                       : ADD_INT64,
    };
    plan->args_size = sizeof(add_args);
    if (a->size > 0) {
        plan->grid.x = gm_grid_blocks(variant, call, words_of(a, span), 0);
    }
    return GM_OK;
}

/* The sum migrates to the host before the caller reads it. */
static gm_status launch_with_hints(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_backend *backend = call->backend;
    const gm_array *arrays[] = {&call->in[A], &call->in[B], &call->out};
    gm_status status = GM_OK;
    for (int i = 0; status == GM_OK && i < 3; i++) {
        status = backend->migrate(arrays[i]->data, arrays[i]->bytes, true, call->stream);
    }
    if (status == GM_OK) {
        status = backend->launch(variant, plan, call->stream);
    }
    return status == GM_OK ? backend->migrate(call->out.data, call->out.bytes, false, call->stream)
                           : status;
}

static int add_split(const gm_call *call, int input)
{
    (void)call, (void)input;
    return GM_FLAT;
}

#define NUMBERS                                                                                    \
    .kinds = "iuf", .itemsizes = 1 << 4 | 1 << 8,                                                  \
    .dtypes = "int32, int64, uint32, uint64, float32, float64"

static const gm_operand inputs[] = {
    [A] = {.name = "a", NUMBERS, .suits = gm_is_packed},
    [B] = {.name = "b", NUMBERS, .suits = gm_is_packed},
};

const gm_family gm_family_add = {
    .name = "add",
    .doc = "a + b: arrays of the host, and the ways to a kernel",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 2,
    .result = add_result,
    .choose = add_choose,
    .split = add_split,
    .plan = add_plan,
};
