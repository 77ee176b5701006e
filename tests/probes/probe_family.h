/* The family around a ladder of probes; after GM_FAMILY, GM_LADDER and family.h. */
#include <string.h>

#include "backend/backend.h"
#include "probe.h"

static gm_status probe_result(gm_call *call)
{
    const gm_array *in = &call->in[0];
    call->out.ndim = in->ndim;
    memcpy(call->out.shape, in->shape, (size_t)in->ndim * sizeof *in->shape);
    return GM_OK;
}

static const gm_variant *probe_choose(const gm_call *call)
{
    return &call->family->variants[0];
}

static gm_status probe_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    probe_args *args = (probe_args *)plan->args;
    *args = (probe_args){(const float *)call->in[0].data, (float *)call->out.data, call->in[0].size,
                         call->parameters[0].integer, call->parameters[1].integer};
    plan->args_size = sizeof *args;
    if (args->n > 0) {
        plan->grid.x = gm_grid_blocks(variant, call, args->n, 0);
    }
    return GM_OK;
}

static const gm_operand probe_inputs[] = {
    {.name = "a", .kinds = "f", .itemsizes = 1 << 4, .dtypes = "float32"},
};
static const gm_parameter probe_parameters[] = {
    {"offset", INT64_MIN, INT64_MAX, false},
    {"stride", INT64_MIN, INT64_MAX, false},
};

#define PROBE_FAMILY(name_)                                                                        \
    const gm_family gm_family_##name_ = {                                                          \
        .name = #name_,                                                                            \
        .doc = "probes",                                                                           \
        .variants = variants,                                                                      \
        .count = variant_count,                                                                    \
        .inputs = probe_inputs,                                                                    \
        .input_count = 1,                                                                          \
        .parameters = probe_parameters,                                                            \
        .parameter_count = 2,                                                                      \
        .result = probe_result,                                                                    \
        .choose = probe_choose,                                                                    \
        .plan = probe_plan,                                                                        \
    }
