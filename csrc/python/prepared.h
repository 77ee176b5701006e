/* Calls that are bound once and launched many times. */
#ifndef GPUMEM_PYTHON_PREPARED_H
#define GPUMEM_PYTHON_PREPARED_H

#include "python/python.h"

extern PyTypeObject gm_prepared_type;

PyObject *gm_core_prepare(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gm_core_launch_all(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
