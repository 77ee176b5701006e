/* From a call to a launch: pick the variant, check that it fits, plan, launch. */
#include <string.h>

#include "backend/backend.h"
#include "call/kept.h"
#include "gpumem.h"

/* The variant asked for, or for NULL the family's choice; of a row with instances the best one. */
static gm_status find_variant(const gm_variant **variant, const gm_call *call)
{
    gm_kept_key key;
    const gm_variant *kept = gm_kept_find(call, *variant, &key);
    if (kept) {
        *variant = kept;
        return GM_OK;
    }
    if (!*variant) {
        *variant = call->family->choose(call);
    }
    gm_status status = gm_variant_fits(*variant, call);
    if (status == GM_OK) {
        *variant = gm_instance(*variant, call);
        gm_kept_store(&key, *variant);
    }
    return status;
}

bool gm_auto_takes(const gm_call *call)
{
    const gm_variant *chosen = NULL;
    const bool before = gm_hush(true);
    gm_status status = find_variant(&chosen, call);
    gm_hush(before);
    return status == GM_OK;
}

gm_status gm_prepare(const gm_variant **variant, const gm_call *call, gm_plan *plan)
{
    gm_status status = find_variant(variant, call);
    if (status != GM_OK) {
        return status;
    }
    plan->block = (*variant)->block;
    plan->grid = (gm_dim){0, 1, 1};
    plan->cluster = (gm_dim){0, 0, 0};
    plan->shared_bytes = (size_t)(*variant)->shared_bytes;
    plan->args_size = 0;
    plan->has_carveout = false;
    plan->trace = call->trace;
    return call->family->plan(*variant, call, plan);
}

gm_status gm_check(const gm_call *call)
{
    return call->family->check ? call->family->check(call) : GM_OK;
}

/* A hook may write into its plan. */
static gm_status launch_by_hook(const gm_variant *variant, const gm_call *call, const gm_plan *plan)
{
    gm_plan own;
    memcpy(&own, plan, offsetof(gm_plan, args) + plan->args_size); /* room for more is large */
    return variant->launch(variant, call, &own);
}

gm_status gm_launch(const gm_variant *variant, const gm_call *call, const gm_plan *plan)
{
    if (plan->grid.x == 0 || plan->grid.y == 0 || plan->grid.z == 0) {
        return GM_OK; /* nothing to do */
    }
    return variant->launch ? launch_by_hook(variant, call, plan)
                           : call->backend->launch(variant, plan, call->stream);
}

void gm_begin_like(const gm_call *call, const char *family, gm_call *other)
{
    other->family = gm_find_family(family);
    other->variant = NULL;
    other->backend = call->backend;
    other->device = call->device;
    other->stream = call->stream;
    other->trace = call->trace;
    memset(other->parameters, 0, sizeof other->parameters);
}

gm_status gm_launch_copy(const gm_call *call, const gm_array *from, const gm_array *to,
                         gm_plan *plan)
{
    const gm_variant *chosen = NULL;
    gm_call copy;
    gm_begin_like(call, "copy", &copy);
    copy.in[0] = *from;
    copy.out = *to;
    gm_status status = gm_prepare(&chosen, &copy, plan);
    return status == GM_OK ? gm_launch(chosen, &copy, plan) : status;
}

gm_status gm_launch_with_symbol(const gm_symbol *symbol, const void *from, int64_t bytes,
                                const gm_variant *variant, const gm_call *call, const gm_plan *plan)
{
    gm_status status = gm_serializer_enter(symbol->serializer, call);
    if (status != GM_OK) {
        return status;
    }
    if (bytes > 0) {
        status = call->backend->symbol_copy(symbol, plan->trace != NULL, true,
                                            (void *)(uintptr_t)from, bytes, call->stream);
    }
    if (status == GM_OK) {
        status = call->backend->launch(variant, plan, call->stream);
    }
    return gm_serializer_leave(symbol->serializer, call, status);
}
