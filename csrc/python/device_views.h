/* Views of device arrays: by an index, of other shapes and dtypes. */
#ifndef GPUMEM_PYTHON_DEVICE_VIEWS_H
#define GPUMEM_PYTHON_DEVICE_VIEWS_H

#include "python/device_object.h"

extern PyMethodDef gm_device_view_methods[];

/* array[index], always a view. */
PyObject *gm_device_view_index(PyObject *array, PyObject *index);
/* The view of one element, without dimensions, by its number in C order. */
PyObject *gm_device_element(gm_device_array *array, npy_intp index);
/* The getters of DeviceArray.T and DeviceArray.mT. */
PyObject *gm_device_transposed(PyObject *array, void *unused);
PyObject *gm_device_transposed_matrices(PyObject *array, void *unused);
/* A C-contiguous copy, as copy() makes it. */
PyObject *gm_device_array_clone(gm_device_array *array);

#endif
