/* The flags of device arrays. */
#ifndef GPUMEM_PYTHON_DEVICE_FLAGS_H
#define GPUMEM_PYTHON_DEVICE_FLAGS_H

#include "python/python.h"

extern PyTypeObject gm_flags_type;

/* The getter of DeviceArray.flags. */
PyObject *gm_device_flags(PyObject *array, void *unused);

#endif
