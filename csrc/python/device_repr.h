/* repr of device arrays. */
#ifndef GPUMEM_PYTHON_DEVICE_REPR_H
#define GPUMEM_PYTHON_DEVICE_REPR_H

#include "python/python.h"

PyObject *gm_device_array_repr(PyObject *array);

#endif
