/* Arrays of other libraries, used where they are. */
#ifndef GPUMEM_PYTHON_ADOPT_H
#define GPUMEM_PYTHON_ADOPT_H

#include "python/dlpack_exchange.h"

/* May gm_adopt find an array in this object? */
bool gm_is_adoptable(PyObject *object);
/* Another library's array in the memory of a CUDA device; if it is kept, ready for work on the
 * stream. NULL without an exception if the object is none. Arrays of one call share `current`. */
gm_device_array *gm_adopt(PyObject *object, const char *name, PyObject *stream, gm_usage usage,
                          gm_current_stream *current);
/* The same for Python: adopt(x, name, stream). */
PyObject *gm_core_adopt(PyObject *module, PyObject *args);
/* gpumem.from_dlpack */
PyObject *gm_from_dlpack(PyObject *module, PyObject *args, PyObject *keywords);

#endif
