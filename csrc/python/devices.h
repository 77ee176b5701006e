/* Devices by their number, and the current device of the thread. */
#ifndef GPUMEM_PYTHON_DEVICES_H
#define GPUMEM_PYTHON_DEVICES_H

#include "memory/device.h"
#include "python/python.h"

/* The number of a device; -1 for None and NULL, the current one. Returns -1 with an exception. */
int gm_parse_device(PyObject *object, int *device);
/* Makes a device the current one; returns -1 with an exception. A negative number changes nothing,
 * here and in gm_leave_numbered. */
int gm_enter_numbered(const gm_backend *backend, int device, int *previous);
/* Keeps the error record: an earlier failure may not have been raised yet. */
void gm_leave_numbered(const gm_backend *backend, int previous);
/* The same for the device of some memory. */
int gm_enter_device(const gm_device_memory *memory, int *previous);
void gm_leave_device(const gm_device_memory *memory, int previous);

#endif
