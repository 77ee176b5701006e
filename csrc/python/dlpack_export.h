/* Lends arrays to other libraries by DLPack. */
#ifndef GPUMEM_DLPACK_EXPORT_H
#define GPUMEM_DLPACK_EXPORT_H

#include "python/python.h"

/* DeviceArray.__dlpack__ and __dlpack_device__. */
PyObject *gm_dlpack_export(PyObject *array, PyObject *args, PyObject *keywords);
PyObject *gm_dlpack_device(PyObject *array, PyObject *unused);

#endif
