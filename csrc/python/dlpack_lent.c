/*
 * Tensors lent to other libraries by DLPack, each with a deleter.
 *
 * Deleters run on any thread, with the GIL or without it, and after the interpreter has ended: ours
 * need no Python.
 */
#include "python/dlpack_lent.h"

#include <stdlib.h>

#include "python/borrow.h"
#include "python/dlpack_device.h"
#include "python/dlpack_dtype.h"
#include "python/errors.h"

/* A tensor of either version, with its shape and strides, and a reference to the memory. */
typedef struct lent {
    union {
        DLManagedTensor legacy;
        DLManagedTensorVersioned versioned;
    } as;
    gm_device_memory *memory;
    int64_t numbers[]; /* shape, strides */
} lent;

static void give_back_legacy(DLManagedTensor *self)
{
    gm_device_memory_drop(((lent *)self->manager_ctx)->memory);
    free(self->manager_ctx);
}

static void give_back_versioned(DLManagedTensorVersioned *self)
{
    gm_device_memory_drop(((lent *)self->manager_ctx)->memory);
    free(self->manager_ctx);
}

static int describe(DLTensor *tensor, int64_t *numbers, const gm_device_array *array)
{
    PyArrayObject *layout = array->layout;
    int ndim = PyArray_NDIM(layout), code = gm_dlpack_code(PyArray_DESCR(layout));
    int64_t itemsize = PyArray_ITEMSIZE(layout);
    npy_intp strides[GM_MAX_DIMS];
    if (code < 0 || gm_lent_strides(layout, strides) < 0) {
        return -1;
    }
    for (int d = 0; d < ndim; d++) {
        numbers[d] = PyArray_DIM(layout, d);
        numbers[ndim + d] = strides[d] / itemsize;
    }
    *tensor = (DLTensor){
        .data = PyArray_DATA(layout),
        .device = gm_dlpack_device_of(array->memory),
        .ndim = ndim,
        .dtype = {.code = (uint8_t)code, .bits = (uint8_t)(8 * itemsize), .lanes = 1},
        .shape = numbers,
        .strides = numbers + ndim,
    };
    return 0;
}

static gm_status expect_writes(const gm_backend *backend, char *begin, int64_t bytes)
{
    int device = -1;
    if (!backend->host_memory || bytes == 0) {
        return GM_OK;
    }
    gm_status status = backend->adopt(begin, bytes, &device);
    if (status == GM_OK) {
        backend->disown(begin, bytes);
    }
    return status;
}

gm_status gm_expect_writes(const gm_device_array *array)
{
    PyArrayObject *layout = array->layout;
    char *begin = PyArray_DATA(layout), *end = begin + PyArray_ITEMSIZE(layout);
    if (PyArray_SIZE(layout) == 0) {
        return GM_OK;
    }
    for (int d = 0; d < PyArray_NDIM(layout); d++) {
        npy_intp span = (PyArray_DIM(layout, d) - 1) * PyArray_STRIDE(layout, d);
        begin += span < 0 ? span : 0;
        end += span > 0 ? span : 0;
    }
    return expect_writes(array->memory->backend, begin, end - begin);
}

/* Room for a tensor; NULL without an exception if there is no memory. */
static lent *new_lent(int ndim)
{
    return malloc(sizeof(lent) + 2 * (size_t)ndim * sizeof(int64_t));
}

static DLManagedTensorVersioned versioned_tensor(lent *made, DLTensor tensor, uint64_t flags)
{
    return (DLManagedTensorVersioned){
        .version = {DLPACK_MAJOR_VERSION, GM_DLPACK_MINOR_VERSION},
        .manager_ctx = made,
        .deleter = give_back_versioned,
        .flags = flags,
        .dl_tensor = tensor,
    };
}

static lent *lend(const gm_device_array *array, DLTensor *tensor)
{
    lent *made = new_lent(PyArray_NDIM(array->layout));
    if (!made) {
        PyErr_NoMemory();
    } else if (describe(tensor, made->numbers, array) < 0) {
        free(made);
        made = NULL;
    } else {
        made->memory = gm_device_memory_keep(array->memory);
    }
    return made;
}

DLManagedTensor *gm_lend_legacy(const gm_device_array *array)
{
    DLTensor tensor;
    lent *made = lend(array, &tensor);
    if (!made) {
        return NULL;
    }
    made->as.legacy = (DLManagedTensor){tensor, made, give_back_legacy};
    return &made->as.legacy;
}

DLManagedTensorVersioned *gm_lend_versioned(const gm_device_array *array, bool copied)
{
    DLTensor tensor;
    lent *made = lend(array, &tensor);
    if (!made) {
        return NULL;
    }
    made->as.versioned = versioned_tensor(made, tensor, copied ? DLPACK_FLAG_BITMASK_IS_COPIED : 0);
    return &made->as.versioned;
}

/* Of a tensor in C order; fills in its strides. */
static gm_status count_bytes(const DLTensor *like, int64_t *numbers, int64_t *bytes)
{
    bool fits = like->ndim >= 0 && like->ndim <= GM_MAX_DIMS && (like->ndim == 0 || like->shape);
    int64_t count = 1, bits = (int64_t)like->dtype.bits * like->dtype.lanes;
    for (int d = like->ndim - 1; fits && d >= 0; d--) {
        numbers[d] = like->shape[d];
        numbers[like->ndim + d] = count;
        fits = like->shape[d] >= 0 && gm_multiply(count, like->shape[d], &count);
    }
    if (!fits || bits == 0 || !gm_multiply(count, bits, &bits) || !gm_add(bits, 7, &bits)) {
        return gm_fail(GM_ERROR_VALUE, "the tensor asked for has no valid shape or dtype");
    }
    *bytes = bits / 8;
    return GM_OK;
}

static gm_status allocate(const DLTensor *like, int64_t bytes, gm_device_memory **memory)
{
    const gm_backend *backend = gm_dlpack_backend(like->device.device_type);
    bool usable = backend && (like->device.device_type == kDLCUDA || backend->host_memory);
    int device, previous;
    if (!usable) {
        return gm_fail(GM_ERROR_VALUE, "gpumem allocates no %s memory for others",
                       gm_dlpack_name(like->device.device_type));
    }
    device = backend->host_memory ? 0 : like->device.device_id;
    gm_status status = backend->open();
    if (status == GM_OK) {
        status = backend->use_device(device, &previous);
    }
    if (status != GM_OK) {
        return status;
    }
    status = gm_device_memory_new(backend, bytes, memory);
    if (status == GM_OK) {
        status = expect_writes(backend, (*memory)->address, bytes);
        if (status != GM_OK) {
            gm_device_memory_drop(*memory);
        }
    }
    if (previous != device) {
        gm_backend_go_back(backend, previous);
    }
    return status;
}

gm_status gm_lend_new(const DLTensor *like, DLManagedTensorVersioned **tensor)
{
    int ndim = like->ndim > 0 && like->ndim <= GM_MAX_DIMS ? like->ndim : 0;
    lent *made = new_lent(ndim);
    int64_t bytes = 0;
    if (!made) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for a tensor's description");
    }
    gm_status status = count_bytes(like, made->numbers, &bytes);
    if (status == GM_OK) {
        status = allocate(like, bytes, &made->memory);
    }
    if (status != GM_OK) {
        free(made);
        return status;
    }
    made->as.versioned = versioned_tensor(made,
                                          (DLTensor){.data = made->memory->address,
                                                     .device = gm_dlpack_device_of(made->memory),
                                                     .ndim = ndim,
                                                     .dtype = like->dtype,
                                                     .shape = made->numbers,
                                                     .strides = made->numbers + ndim},
                                          0);
    *tensor = &made->as.versioned;
    return GM_OK;
}
