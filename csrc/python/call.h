/* _core.call, traffic and adopt_all; described in _core.pyi. */
#ifndef GPUMEM_PYTHON_CALL_H
#define GPUMEM_PYTHON_CALL_H

#include "python/python.h"

PyObject *gm_core_call(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gm_core_traffic(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gm_core_adopt_all(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
