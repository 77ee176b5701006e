/*
 * Descriptions of other libraries' arrays, kept for the next call with the same ones.
 *
 * A program gives the same arrays to call after call, or new ones where others were: libraries
 * reuse memory. To describe an array anew, as an ndarray in a device array over borrowed memory,
 * takes longer than all else that a call does for it. So a description that a call is done with
 * becomes a spare: an object without references that keeps nothing of the library's, neither the
 * memory nor what the library said of it. The next array is asked as ever; where its address,
 * shape, strides, dtype and flag are those of a spare, that is taken instead of a new one.
 *
 * Each spare has a place by its address, and goes in and out in one atomic step: who has it has it
 * alone, on whatever thread.
 */
#include "python/spares.h"

#include <stdatomic.h>

enum { BITS = 6 };

static _Atomic(gm_device_array *) spares[1 << BITS];

static _Atomic(gm_device_array *) *place_of(const void *data)
{
    return &spares[(uint64_t)(uintptr_t)data * UINT64_C(0x9E3779B97F4A7C15) >> (64 - BITS)];
}

gm_device_array *gm_spare_keep(gm_device_array *array)
{
    PyArrayObject *layout = array->layout;
    const int number = PyArray_TYPE(layout);
    /* Dtypes of numbers are NumPy's own, of which there is one each: a spare keeps none alive. */
    if (!(PyTypeNum_ISNUMBER(number) || PyTypeNum_ISBOOL(number)) ||
        Py_REFCNT((PyObject *)layout) != 1 || !gm_device_memory_end_loan(array->memory)) {
        return array;
    }
    return atomic_exchange_explicit(place_of(PyArray_DATA(layout)), array, memory_order_acq_rel);
}

static bool is_like(PyArrayObject *layout, PyArray_Descr *dtype, int ndim, const int64_t *shape,
                    const int64_t *strides, const void *data, bool writeable)
{
    bool same = PyArray_DATA(layout) == data && PyArray_DESCR(layout) == dtype &&
                PyArray_NDIM(layout) == ndim && (bool)PyArray_ISWRITEABLE(layout) == writeable;
    for (int d = 0; same && d < ndim; d++) {
        same = PyArray_DIM(layout, d) == shape[d] &&
               (shape[d] <= 1 || PyArray_STRIDE(layout, d) == strides[d]);
    }
    return same;
}

gm_device_array *gm_spare_take(const gm_backend *backend, PyArray_Descr *dtype, int ndim,
                               const int64_t *shape, const int64_t *strides, const void *data,
                               bool writeable)
{
    _Atomic(gm_device_array *) *place = place_of(data);
    if ((!strides && ndim > 0) || !atomic_load_explicit(place, memory_order_relaxed)) {
        return NULL;
    }
    gm_device_array *array = atomic_exchange_explicit(place, NULL, memory_order_acq_rel);
    if (!array) {
        return NULL;
    }
    PyObject_Init((PyObject *)array, &gm_device_array_type);
    gm_device_memory_begin_loan(array->memory);
    if (array->memory->backend != backend ||
        !is_like(array->layout, dtype, ndim, shape, strides, data, writeable)) {
        Py_CLEAR(array); /* frees it: the place will be another's */
    }
    return array;
}
