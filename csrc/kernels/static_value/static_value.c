/* static_value: the family. There is one of each variable per device: calls take turns. */
#include "static_value/static_value.h"

#include <string.h>

#include "backend/backend.h"

static gm_status launch_by_symbol(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_by_address(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_managed(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#define GM_FAMILY static_value
#define GM_LADDER "static_value/ladder.def"
#include "family.h"

static gm_status static_value_result(gm_call *call)
{
    const gm_array *x = &call->in[0];
    if (x->size != 1) {
        return gm_fail(GM_ERROR_VALUE, "x has %lld element%s, expected one", (long long)x->size,
                       GM_PLURAL(x->size));
    }
    call->out.ndim = x->ndim;
    memcpy(call->out.shape, x->shape, (size_t)x->ndim * sizeof *x->shape);
    return GM_OK;
}

static const gm_variant *static_value_choose(const gm_call *call)
{
    return gm_row(call, static_value_row_symbol_address);
}

static gm_status static_value_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *x = &call->in[0];
    (void)variant;
    *(static_value_args *)plan->args = (static_value_args){
        .in = x->data,
        .out = call->out.data,
        .bytes = x->itemsize,
        .type = x->kind == 'i'     ? x->itemsize == 4 ? STATIC_VALUE_INT32 : STATIC_VALUE_INT64
                : x->itemsize == 4 ? STATIC_VALUE_FLOAT32
                                   : STATIC_VALUE_FLOAT64,
    };
    plan->args_size = sizeof(static_value_args);
    plan->grid.x = 1;
    return GM_OK;
}

static gm_status add_by_symbol(const gm_variant *variant, const gm_call *call, const gm_plan *plan)
{
    const static_value_args *args = (const static_value_args *)plan->args;
    const gm_backend *backend = call->backend;
    bool traced = plan->trace != NULL;
    gm_status status = backend->symbol_copy(&symbol_by_name, traced, true,
                                            (void *)(uintptr_t)args->in, args->bytes, call->stream);
    if (status == GM_OK) {
        status = backend->launch(variant, plan, call->stream);
    }
    return status == GM_OK ? backend->symbol_copy(&symbol_by_name, traced, false, args->out,
                                                  args->bytes, call->stream)
                           : status;
}

static gm_status launch_by_symbol(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    gm_status status = gm_serializer_enter(symbol_by_name.serializer, call);
    return status == GM_OK ? gm_serializer_leave(symbol_by_name.serializer, call,
                                                 add_by_symbol(variant, call, plan))
                           : status;
}

static gm_status add_by_address(const gm_variant *variant, const gm_call *call, const gm_plan *plan)
{
    const static_value_args *args = (const static_value_args *)plan->args;
    const gm_backend *backend = call->backend;
    void *variable = NULL;
    gm_status status = backend->symbol_address(&symbol_by_address, plan->trace != NULL, &variable);
    if (status == GM_OK) {
        status = backend->copy(variable, args->in, args->bytes, GM_WITHIN, call->stream);
    }
    if (status == GM_OK) {
        status = backend->launch(variant, plan, call->stream);
    }
    return status == GM_OK
               ? backend->copy(args->out, variable, args->bytes, GM_WITHIN, call->stream)
               : status;
}

static gm_status launch_by_address(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    gm_status status = gm_serializer_enter(symbol_by_address.serializer, call);
    return status == GM_OK ? gm_serializer_leave(symbol_by_address.serializer, call,
                                                 add_by_address(variant, call, plan))
                           : status;
}

/* Copies between host and device, and waits for the copy. */
static gm_status carry(const gm_call *call, void *to, const void *from, int64_t bytes,
                       gm_direction direction)
{
    gm_status status = call->backend->copy(to, from, bytes, direction, call->stream);
    return status == GM_OK ? call->backend->wait(call->stream) : status;
}

static gm_status add_managed(const gm_variant *variant, const gm_call *call, const gm_plan *plan)
{
    const static_value_args *args = (const static_value_args *)plan->args;
    const gm_symbol *symbol = &symbol_of_both;
    void *variable = call->backend->asynchronous ? symbol->cuda()
                     : plan->trace               ? symbol->traced()
                                                 : symbol->plain();
    unsigned char value[STATIC_VALUE_BYTES];
    gm_status status = carry(call, value, args->in, args->bytes, GM_TO_HOST);
    if (status != GM_OK) {
        return status;
    }
    memcpy(variable, value, (size_t)args->bytes); /* the host writes the variable, */
    status = call->backend->launch(variant, plan, call->stream);
    if (status == GM_OK) {
        status = call->backend->wait(call->stream);
    }
    if (status != GM_OK) {
        return status;
    }
    memcpy(value, variable, (size_t)args->bytes); /* and reads it */
    return carry(call, args->out, value, args->bytes, GM_TO_DEVICE);
}

static gm_status launch_managed(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    gm_status status = gm_serializer_enter(symbol_of_both.serializer, call);
    return status == GM_OK ? gm_serializer_leave(symbol_of_both.serializer, call,
                                                 add_managed(variant, call, plan))
                           : status;
}

static const gm_operand inputs[] = {
    {.name = "x",
     .kinds = "if",
     .itemsizes = 1 << 4 | 1 << 8,
     .dtypes = "int32, int64, float32, float64",
     .suits = gm_is_packed},
};

const gm_family gm_family_static_value = {
    .name = "static_value",
    .doc = "a variable of the device, reached in three ways",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 1,
    .result = static_value_result,
    .choose = static_value_choose,
    .plan = static_value_plan,
};
