/* Modules of kernels that are loaded at run time. */
#ifndef GPUMEM_PYTHON_MODULES_H
#define GPUMEM_PYTHON_MODULES_H

#include "python/python.h"

PyObject *gm_core_module_open(PyObject *module, PyObject *args);
PyObject *gm_core_module_launch(PyObject *module, PyObject *args);

#endif
