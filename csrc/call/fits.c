/* Can a device run a variant, and can the variant take the arrays of a call? */
#include <string.h>

#include "backend/backend.h"
#include "gpumem.h"
#include "memory/host.h"

gm_status gm_variant_available(const gm_variant *variant, const gm_backend *backend,
                               const gm_device_properties *device)
{
    gm_status status = backend->supports(variant, device);
    if (status != GM_OK) {
        return status;
    }
    if (variant->managed && !device->managed) {
        return gm_fail(GM_ERROR_UNAVAILABLE,
                       "%s needs concurrent managed access, which this device (%s) lacks",
                       variant->symbol, device->name);
    }
    return variant->library ? backend->library(variant->library) : GM_OK;
}

bool gm_rows_contiguous(const gm_array *array)
{
    int last = array->ndim - 1;
    return array->contiguous || array->size == 0 ||
           (last >= 0 && (array->shape[last] == 1 || array->strides[last] == array->itemsize));
}

bool gm_elements_aligned(const gm_array *array)
{
    uintptr_t bits = (uintptr_t)array->data;
    for (int d = 0; d < array->ndim; d++) {
        bits |= array->shape[d] > 1 ? (uintptr_t)array->strides[d] : 0;
    }
    const uintptr_t itemsize = (uintptr_t)array->itemsize;
    const bool power = (itemsize & (itemsize - 1)) == 0; /* as a rule: a division takes long */
    return array->size == 0 || itemsize == 0 ||
           (power ? bits & (itemsize - 1) : bits % itemsize) == 0;
}

bool gm_is_packed(const gm_array *array)
{
    return array->contiguous && gm_elements_aligned(array);
}

static gm_status fits_layout(const gm_variant *variant, const gm_call *call, const char *name,
                             const gm_array *array)
{
    if (array == &call->out && !call->family->in_place && !array->contiguous &&
        !variant->strided_out) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s needs out C-contiguous (variant=\"auto\" takes any layout)",
                       variant->name);
    }
    if (variant->layout == GM_CONTIGUOUS && !array->contiguous) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s needs %s C-contiguous (variant=\"auto\" takes any layout)",
                       variant->name, name);
    }
    if (variant->layout == GM_ROWS && !gm_rows_contiguous(array)) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s needs %s with contiguous rows (variant=\"auto\" takes any "
                       "layout)",
                       variant->name, name);
    }
    return GM_OK;
}

/* Kernels for certain element sizes load elements whole: each must be aligned to its size. */
static gm_status fits_elements(const gm_variant *variant, const char *name, const gm_array *array)
{
    return variant->itemsizes == 0 || gm_elements_aligned(array)
               ? GM_OK
               : gm_fail(GM_ERROR_VALUE,
                         "variant %s needs every element of %s aligned to its %lld bytes "
                         "(variant=\"auto\" takes any alignment)",
                         variant->name, name, (long long)array->itemsize);
}

static gm_status fits_dtype(const gm_variant *variant, const char *name, const gm_array *array)
{
    if (variant->itemsizes != 0 &&
        (array->itemsize > 63 || !(variant->itemsizes >> array->itemsize & 1))) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s has no kernel for %s with elements of %lld byte%s",
                       variant->name, name, (long long)array->itemsize, GM_PLURAL(array->itemsize));
    }
    if (variant->kinds && !strchr(variant->kinds, array->kind)) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s takes %s as numbers of dtype.kind \"%s\", not \"%c\"",
                       variant->name, name, variant->kinds, array->kind);
    }
    return GM_OK;
}

static gm_status fits_place(const gm_variant *variant, const char *name, const gm_array *array)
{
    static const char *const wanted[] = {
        [GM_IN_HOST] = "page-locked host memory, as gpumem.empty(kind=\"mapped\") gives",
        [GM_IN_MANAGED] = "managed memory, as gpumem.empty(kind=\"managed\") gives",
    };
    bool pinned = array->memory == GM_PINNED || array->memory == GM_WRITE_COMBINED ||
                  array->memory == GM_MAPPED;
    if (variant->place == GM_ANYWHERE ||
        (variant->place == GM_IN_HOST ? pinned : array->memory == GM_MANAGED)) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "variant %s needs %s in %s; it is in %s memory (variant=\"auto\" takes any)",
                   variant->name, name, wanted[variant->place],
                   gm_memory_kind_names[array->memory]);
}

static gm_status fits_array(const gm_variant *variant, const gm_call *call, const char *name,
                            const gm_array *array)
{
    if (variant->alignment > 1 && (uintptr_t)array->data % (unsigned)variant->alignment != 0) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s needs %s aligned to %d bytes, its address is %d past that "
                       "(variant=\"auto\" takes any alignment)",
                       variant->name, name, variant->alignment,
                       (int)((uintptr_t)array->data % (unsigned)variant->alignment));
    }
    gm_status status = fits_layout(variant, call, name, array);
    if (status == GM_OK) {
        status = fits_elements(variant, name, array);
    }
    /* A traced call works on copies of all arrays. */
    return status == GM_OK && !call->trace ? fits_place(variant, name, array) : status;
}

gm_status gm_variant_takes(const gm_variant *variant, const gm_call *call)
{
    gm_status status = fits_dtype(variant, call->family->inputs[0].name, &call->in[0]);
    for (int i = 0; status == GM_OK && i < call->family->input_count; i++) {
        if (!call->in[i].absent) {
            status = fits_array(variant, call, call->family->inputs[i].name, &call->in[i]);
        }
    }
    if (status == GM_OK) {
        status = fits_array(variant, call, "out", &call->out);
    }
    if (status == GM_OK && variant->takes) {
        status = variant->takes(variant, call);
    }
    /* A row that takes the dtype has an instance for it. */
    return status == GM_OK && variant->pick ? gm_variant_takes(gm_instance(variant, call), call)
                                            : status;
}

const gm_variant *gm_instance(const gm_variant *variant, const gm_call *call)
{
    return variant->pick ? gm_row(call, variant->pick(call)) : variant;
}

gm_status gm_variant_fits(const gm_variant *variant, const gm_call *call)
{
    gm_status status = gm_variant_available(variant, call->backend, call->device);
    return status == GM_OK ? gm_variant_takes(variant, call) : status;
}

bool gm_variant_can(const gm_variant *variant, const gm_call *call)
{
    const bool before = gm_hush(true);
    gm_status status = gm_variant_fits(variant, call);
    gm_hush(before);
    return status == GM_OK;
}

const gm_variant *gm_row(const gm_call *call, int row)
{
    return &call->family->variants[row];
}

const gm_variant *gm_first_that_fits(const gm_call *call, const int *rows, size_t count)
{
    for (; count > 1; rows++, count--) {
        const gm_variant *variant = gm_row(call, *rows);
        if (gm_variant_can(variant, call)) {
            return variant;
        }
    }
    return gm_row(call, *rows);
}
