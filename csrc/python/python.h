/* Python's and NumPy's headers, with the versions of their APIs that gpumem is built for. */
#ifndef GPUMEM_PYTHON_H
#define GPUMEM_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL gpumem_array_api
#ifndef GM_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

/* With a GIL, whoever runs C code runs alone. */
#if PY_VERSION_HEX < 0x030D0000
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

#include "backend/backend.h"
#include "gpumem.h"

#endif
