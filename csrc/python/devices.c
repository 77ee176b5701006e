/* Enters and leaves devices. */
#include "python/devices.h"

#include "python/errors.h"
#include "python/values.h"

int gm_parse_device(PyObject *object, int *device)
{
    *device = -1;
    if (!object || object == Py_None) {
        return 0;
    }
    if (!gm_is_integer(object)) {
        PyErr_Format(PyExc_TypeError, "device must be an int or None, not %.100s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    Py_ssize_t number = PyNumber_AsSsize_t(object, NULL); /* saturates */
    if (number == -1 && PyErr_Occurred()) {
        gm_name_error("device", object);
        return -1;
    }
    if (number < 0 || number > INT_MAX) {
        gm_raise_about(PyExc_ValueError, "device is %.80R: there is no such device", object);
        return -1;
    }
    *device = (int)number;
    return 0;
}

int gm_enter_numbered(const gm_backend *backend, int device, int *previous)
{
    *previous = -1;
    gm_status status = device < 0 ? GM_OK : backend->use_device(device, previous);
    if (status != GM_OK) {
        gm_raise(status);
        return -1;
    }
    return 0;
}

void gm_leave_numbered(const gm_backend *backend, int previous)
{
    if (previous >= 0) {
        gm_backend_go_back(backend, previous);
    }
}

int gm_enter_device(const gm_device_memory *memory, int *previous)
{
    gm_status status = memory->backend->use_device(memory->device, previous);
    if (status != GM_OK) {
        gm_raise(status);
        return -1;
    }
    return 0;
}

void gm_leave_device(const gm_device_memory *memory, int previous)
{
    if (previous != memory->device) {
        gm_leave_numbered(memory->backend, previous);
    }
}
