/* array[index] = value, for device arrays. */
#ifndef GPUMEM_PYTHON_DEVICE_ASSIGN_H
#define GPUMEM_PYTHON_DEVICE_ASSIGN_H

#include "python/python.h"

/* mp_ass_subscript */
int gm_device_assign(PyObject *array, PyObject *index, PyObject *value);

#endif
