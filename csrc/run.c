/* From a call to a launch: pick the variant, check that it fits, plan, launch. */
#include "backend/backend.h"
#include "gpumem.h"

gm_status gm_variant_available(const gm_variant *variant, const gm_backend *backend,
                               const gm_figures *device)
{
    if (backend == &gm_sim) {
        if (variant->cuda_only) {
            return gm_fail(GM_ERROR_UNAVAILABLE, "%s is not available on the simulator: %s",
                           variant->symbol, variant->cuda_only);
        }
        return GM_OK;
    }
    if (variant->capability > device->capability) {
        return gm_fail(GM_ERROR_UNAVAILABLE,
                       "%s needs compute capability %d.%d, this device (%s) has %d.%d",
                       variant->symbol, variant->capability / 10, variant->capability % 10,
                       device->name, device->capability / 10, device->capability % 10);
    }
    return GM_OK;
}

static gm_status fits_array(const gm_variant *variant, const char *name, const gm_array *array)
{
    if (variant->alignment > 1 && (uintptr_t)array->data % (unsigned)variant->alignment != 0) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s needs %s aligned to %d bytes, its address is %d past that "
                       "(variant=\"auto\" takes any alignment)",
                       variant->name, name, variant->alignment,
                       (int)((uintptr_t)array->data % (unsigned)variant->alignment));
    }
    if (!variant->strided && !array->contiguous) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s needs %s C-contiguous (variant=\"auto\" takes any layout)",
                       variant->name, name);
    }
    if (variant->itemsizes != 0 &&
        (array->itemsize > 63 || !(variant->itemsizes >> array->itemsize & 1))) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s has no kernel for %s with elements of %lld bytes", variant->name,
                       name, (long long)array->itemsize);
    }
    return GM_OK;
}

gm_status gm_variant_fits(const gm_variant *variant, const gm_call *call)
{
    gm_status status = gm_variant_available(variant, call->backend, call->device);
    for (int i = 0; status == GM_OK && i < call->family->input_count; i++) {
        status = fits_array(variant, call->family->inputs[i], &call->in[i]);
    }
    if (status == GM_OK) {
        status = fits_array(variant, "out", &call->out);
    }
    return status;
}

bool gm_variant_can(const gm_variant *variant, const gm_call *call)
{
    gm_error before = *gm_last_error();
    gm_status status = gm_variant_fits(variant, call);
    *gm_last_error() = before;
    return status == GM_OK;
}

gm_status gm_prepare(const gm_variant **variant, const gm_call *call, gm_plan *plan)
{
    if (!*variant) {
        *variant = call->family->choose(call);
    }
    gm_status status = gm_variant_fits(*variant, call);
    if (status != GM_OK) {
        return status;
    }
    plan->block = (*variant)->block;
    plan->grid = (gm_dim){0, 1, 1};
    plan->shared_bytes = (size_t)(*variant)->shared_bytes;
    plan->args_size = 0;
    plan->trace = call->trace;
    return call->family->plan(*variant, call, plan);
}

gm_status gm_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    if (plan->grid.x == 0 || plan->grid.y == 0 || plan->grid.z == 0) {
        return GM_OK; /* nothing to do */
    }
    if (variant->launch) {
        return variant->launch(variant, call, plan);
    }
    return call->backend->launch(variant, plan, call->stream);
}

unsigned gm_grid_blocks(const gm_variant *variant, const gm_call *call, int64_t elements,
                        int64_t max_blocks)
{
    int64_t per_block = (int64_t)variant->block.x * variant->elements;
    if (per_block == 0) {
        return 1; /* no kernel of its own */
    }
    int64_t blocks = elements / per_block + (elements % per_block != 0);
    int64_t cap = max_blocks;
    if (cap == 0) {
        cap = variant->blocks ? (int64_t)variant->blocks * call->device->multiprocessors
                              : call->device->max_grid_x;
    }
    blocks = blocks < cap ? blocks : cap;
    return blocks > 0 ? (unsigned)blocks : 1;
}
