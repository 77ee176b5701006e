/* Calls on arrays of the host. */
#ifndef GPUMEM_PYTHON_CALL_HOST_H
#define GPUMEM_PYTHON_CALL_HOST_H

#include "python/bound.h"

PyObject *gm_call_on_host(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                          PyObject *backend_name);

#endif
