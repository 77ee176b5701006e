/* The object behind gpumem.DeviceArray; its methods are in device_type.c. */
#ifndef GPUMEM_PYTHON_DEVICE_OBJECT_H
#define GPUMEM_PYTHON_DEVICE_OBJECT_H

#include "memory/device.h"
#include "python/python.h"

/* The layout is an ndarray over addresses of the device: NumPy does the arithmetic of shapes,
 * strides and views. It never leaves the binding, and nothing may read through it. */
typedef struct gm_device_array {
    PyObject_HEAD gm_device_memory *memory;
    PyArrayObject *layout; /* not writeable if the memory's owner does not allow it */
    PyObject *weak_references;
} gm_device_array;

extern PyTypeObject gm_device_array_type;

static inline bool gm_is_device_array(PyObject *object)
{
    return Py_IS_TYPE(object, &gm_device_array_type); /* it has no subclasses */
}

/* Takes both references, also if it fails; either may be NULL, with an exception set. */
gm_device_array *gm_device_array_wrap(gm_device_memory *memory, PyArrayObject *layout);
/* Another array on the same memory; takes the reference to the layout, as above. */
PyObject *gm_device_array_view(gm_device_array *array, PyObject *layout);

#endif
