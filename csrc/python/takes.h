/* Does a variant take arrays like these? */
#ifndef GPUMEM_PYTHON_TAKES_H
#define GPUMEM_PYTHON_TAKES_H

#include "python/python.h"

PyObject *gm_core_takes(PyObject *module, PyObject *args, PyObject *keywords);

#endif
