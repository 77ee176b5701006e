/* gpumem.empty, memory_kind, pool_info and pool_trim. */
#ifndef GPUMEM_PYTHON_HOST_MEMORY_H
#define GPUMEM_PYTHON_HOST_MEMORY_H

#include "python/python.h"

PyObject *gm_core_empty(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_memory_kind(PyObject *module, PyObject *object);
PyObject *gm_core_pool_info(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_pool_trim(PyObject *module, PyObject *args, PyObject *keywords);

#endif
