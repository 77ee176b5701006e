/* DeviceArray.astype. */
#ifndef GPUMEM_PYTHON_DEVICE_ASTYPE_H
#define GPUMEM_PYTHON_DEVICE_ASTYPE_H

#include "python/python.h"

extern PyMethodDef gm_device_astype_methods[];

PyObject *gm_core_astype_traffic(PyObject *module, PyObject *args);

#endif
