/* __cuda_array_interface__, version 3, both ways. */
#ifndef GPUMEM_PYTHON_INTERFACE_H
#define GPUMEM_PYTHON_INTERFACE_H

#include "python/borrow.h"

/* Makes the names of the attribute and of its entries. */
int gm_interface_init(void);
/* The getter of DeviceArray.__cuda_array_interface__. */
PyObject *gm_interface_export(PyObject *array, void *unused);
/* An array from the dict of another library's array, ready for work on the stream if it is kept. */
gm_device_array *gm_interface_adopt(PyObject *interface, PyObject *owner, const char *name,
                                    gm_usage usage, gm_stream stream);
/* A new reference to an object's interface; NULL if it has none. Returns 0, or -1 with an
 * exception. */
int gm_interface_find(PyObject *object, PyObject **interface);
/* Does the dict name the stream that the array is used on? */
bool gm_interface_has_stream(PyObject *interface);

#endif
