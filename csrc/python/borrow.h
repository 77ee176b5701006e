/* What sharing memory with other libraries needs, whatever the protocol. */
#ifndef GPUMEM_PYTHON_BORROW_H
#define GPUMEM_PYTHON_BORROW_H

#include "python/device_object.h"

/* How long an array of another library is used, and for what. */
typedef enum gm_usage {
    GM_READ,    /* by a call, which the object outlives, and which only reads */
    GM_WRITTEN, /* by such a call, which may write */
    GM_KEPT,    /* longer than the object may live */
} gm_usage;

/* An array over memory of another library, which has no owner yet. The device is where the
 * library's own code says that the memory is, or -1: then the driver is asked. Strides are bytes,
 * or NULL for C order. */
gm_device_array *gm_borrow(const gm_backend *backend, int device, const char *name,
                           PyArray_Descr *dtype, int ndim, const int64_t *shape,
                           const int64_t *strides, void *data, bool writeable);
/* May the array share the memory for as long as it lives? 0, or -1 with a BufferError. */
int gm_borrow_share(const gm_device_array *array, const char *name);
/* The library uses the memory on its stream, and waits there for our work. An array that is kept is
 * then ready for work on our stream; a call sees to that itself. Returns -1 with an exception. */
int gm_borrow_follow(gm_device_array *array, gm_stream producer, gm_usage usage, gm_stream stream);
/* The strides, in bytes, of an array lent to another library: 0, or -1 with a BufferError if other
 * libraries do not accept them. */
int gm_lent_strides(PyArrayObject *layout, npy_intp *strides);
/* Calls a function that may run Python, and keeps an exception that is set. With the GIL or without
 * it, and after the interpreter has ended. */
void gm_run_aside(void (*function)(void *), void *argument);

#endif
