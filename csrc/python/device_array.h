/* Making and copying device arrays. */
#ifndef GPUMEM_PYTHON_DEVICE_ARRAY_H
#define GPUMEM_PYTHON_DEVICE_ARRAY_H

#include "python/device_object.h"

/* Uninitialised and contiguous, on the current device; does not take the reference to dtype. */
gm_device_array *gm_device_array_new(const gm_backend *backend, PyArray_Descr *dtype, int ndim,
                                     const npy_intp *shape);
/* A host array that the backend can reach, used in place. */
gm_device_array *gm_device_array_over(const gm_backend *backend, PyArrayObject *array);
/* An array-like object of the host, copied to the current device. */
gm_device_array *gm_device_array_from_host(PyObject *object, PyObject *stream,
                                           const gm_backend *backend);
/* The stream for work on the array: what was given, or entered for its device, or the default. */
int gm_device_array_queue(const gm_device_array *array, PyObject *stream_object, gm_stream *stream,
                          bool *nonblocking);
/* A contiguous copy on the array's device. */
gm_device_array *gm_device_array_copy(gm_device_array *array, gm_stream stream, bool nonblocking);
/* out[...] = array, of the same shape and without overlap; both have any layout. */
gm_status gm_device_array_copy_to(gm_device_array *array, gm_device_array *out, gm_stream stream,
                                  bool nonblocking);
/* A contiguous copy on another device, complete on return. */
gm_device_array *gm_device_array_send(gm_device_array *array, int device, PyObject *stream);
/* A copy on the host: in out, which fits, or if that is NULL in a new array. */
PyObject *gm_device_array_to_host(gm_device_array *array, PyArrayObject *out, PyObject *stream);
/* Sets every byte of a contiguous array; without the GIL. */
gm_status gm_device_array_fill(gm_device_array *array, int byte, gm_stream stream,
                               bool nonblocking);

#endif
