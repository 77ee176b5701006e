/* Calls on device arrays, and on arrays of other libraries in device memory. */
#ifndef GPUMEM_PYTHON_CALL_DEVICE_H
#define GPUMEM_PYTHON_CALL_DEVICE_H

#include "python/bound.h"
#include "python/dlpack_exchange.h"

/* Binds arrays on the current device: 0, or -1 with an exception; then b owns nothing. */
int gm_bind_device(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                   PyObject *backend_name);
/* On the device of the first array, whichever the current one is. */
PyObject *gm_call_on_device(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                            PyObject *backend_name);
/* The inputs, those of other libraries as device arrays; a new reference. If the first one is not
 * on the device, they stay as they are. */
PyObject *gm_adopt_inputs(const gm_family *family, PyObject *inputs, PyObject *stream,
                          gm_current_stream *current);
/* For inputs from gm_adopt_inputs: the result is the given array, not the adopted one. */
PyObject *gm_call_with_adopted(gm_bound *b, PyObject *given_inputs, PyObject *inputs, PyObject *out,
                               PyObject *stream, PyObject *backend_name,
                               gm_current_stream *current);

#endif
