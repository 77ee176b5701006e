/* gpumem.DeviceArray as a Python type. */
#ifndef GPUMEM_PYTHON_DEVICE_TYPE_H
#define GPUMEM_PYTHON_DEVICE_TYPE_H

#include "python/device_object.h"

/* Completes and readies gm_device_array_type. */
int gm_device_type_init(void);
/* gpumem.to_device */
PyObject *gm_to_device(PyObject *module, PyObject *args, PyObject *keywords);

#endif
