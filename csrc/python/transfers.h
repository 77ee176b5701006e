/* What measurements of transfers call; the functions are described in _core.pyi. */
#ifndef GPUMEM_PYTHON_TRANSFERS_H
#define GPUMEM_PYTHON_TRANSFERS_H

#include "python/python.h"

PyObject *gm_core_over(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_transfer(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_send(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_can_reach(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_let_reach(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *gm_core_reach(PyObject *module, PyObject *args);

#endif
