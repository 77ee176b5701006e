/* What sharing memory with other libraries needs, whatever the protocol. */
#ifndef GPUMEM_PYTHON_BORROW_H
#define GPUMEM_PYTHON_BORROW_H

#include "python/device_object.h"

/* An array over memory of another library, which has no owner yet. Strides are bytes, or NULL for
 * C order. */
gm_device_array *gm_borrow(const gm_backend *backend, const char *name, PyArray_Descr *dtype,
                           int ndim, const int64_t *shape, const int64_t *strides, void *data,
                           bool writeable);
/* Makes our stream wait for the library's, and later the library's for our work on the memory; -1
 * with an exception. */
int gm_borrow_follow(gm_device_array *array, gm_stream producer, gm_stream stream);
/* The strides, in bytes, of an array lent to another library: 0, or -1 with a BufferError if other
 * libraries do not accept them. */
int gm_lent_strides(PyArrayObject *layout, npy_intp *strides);
/* Calls a function that may run Python, and keeps an exception that is set. With the GIL or without
 * it, and after the interpreter has ended. */
void gm_run_aside(void (*function)(void *), void *argument);

#endif
