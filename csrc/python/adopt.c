/* Finds the protocol that an object of another library offers, and borrows its array. */
#include "python/adopt.h"

#include "python/arrays.h"
#include "python/device_array.h"
#include "python/devices.h"
#include "python/dlpack_device.h"
#include "python/dlpack_import.h"
#include "python/errors.h"
#include "python/interface.h"
#include "python/streams.h"
#include "python/values.h"

bool gm_is_adoptable(PyObject *object)
{
    return object != Py_None && !gm_is_device_array(object) && !PyArray_Check(object) &&
           !PyBytes_Check(object) && !PyType_Check(object);
}

/* Keeps the exception that is set. */
static bool has_dlpack(PyObject *object)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    bool has = PyObject_HasAttrString((PyObject *)Py_TYPE(object), "__dlpack__");
    PyErr_Restore(type, value, traceback);
    return has;
}

/* By __cuda_array_interface__ if it names the producer's stream, because then that stream can wait
 * for our work too; else by DLPack, whose producer makes our stream wait. */
static gm_device_array *adopt(PyObject *object, const char *name, const gm_backend *backend,
                              PyObject *stream_object)
{
    PyObject *interface;
    gm_device_array *array = NULL;
    gm_stream stream = NULL;
    int type = 0, device = 0, previous, found = 0;
    if (gm_optional_attribute(object, "__cuda_array_interface__", &interface) < 0) {
        /* PyTorch has no typestr for some dtypes; DLPack names them in its error. */
        if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError) ||
            !has_dlpack(object)) {
            return NULL;
        }
        PyErr_Clear();
    }
    if (!interface || !gm_interface_has_stream(interface)) {
        found = gm_dlpack_find(object, &type, &device);
    }
    if (found > 0 && gm_dlpack_backend(type) == backend) {
        if (backend->use_device(backend->host_memory ? 0 : device, &previous) != GM_OK) {
            gm_raise(gm_last_error()->status);
        } else {
            if (gm_parse_stream(stream_object, backend, &stream) == 0) {
                array = gm_dlpack_adopt(object, backend, name, stream);
            }
            if (previous != device) {
                backend->use_device(previous, &previous);
            }
        }
    } else if (found >= 0 && interface) {
        /* Without a GPU, too, the interface's own errors come first. */
        const gm_backend *cuda = gm_backend_with_memory(false);
        if (cuda->open() != GM_OK || gm_parse_stream(stream_object, cuda, &stream) == 0) {
            array = gm_interface_adopt(interface, object, name, stream);
        }
    }
    Py_XDECREF(interface);
    return array;
}

gm_device_array *gm_adopt(PyObject *object, const char *name, PyObject *stream)
{
    return gm_is_adoptable(object) ? adopt(object, name, gm_backend_with_memory(false), stream)
                                   : NULL;
}

PyObject *gm_core_adopt(PyObject *module, PyObject *args)
{
    PyObject *object, *stream;
    const char *name;
    (void)module;
    if (!PyArg_ParseTuple(args, "OsO:adopt", &object, &name, &stream)) {
        return NULL;
    }
    gm_device_array *array = gm_adopt(object, name, stream);
    return array || PyErr_Occurred() ? (PyObject *)array : Py_NewRef(Py_None);
}

/* ---- gpumem.from_dlpack --------------------------------------------------------------------- */

/* The backend for a producer's device; -1 with an exception if there is none. */
static int choose_backend(PyObject *object, const gm_backend **backend)
{
    int type, device;
    *backend = gm_backend_with_memory(false);
    int found = gm_dlpack_find(object, &type, &device);
    if (found <= 0 || gm_dlpack_backend(type) == *backend) {
        return found < 0 ? -1 : 0;
    }
    if (!gm_dlpack_backend(type)) {
        PyErr_Format(PyExc_ValueError,
                     "x is in %s memory; accepted are CUDA devices (and the host, on backend "
                     "\"sim\")",
                     gm_dlpack_name(type));
        return -1;
    }
    if (gm_parse_backend(Py_None, backend) < 0) {
        return -1;
    }
    if (!(*backend)->host_memory) {
        PyErr_Format(
            PyExc_ValueError,
            "x is in %s memory: give it to the functions as it is, or use to_device, which "
            "copies it",
            gm_dlpack_name(type));
        return -1;
    }
    return 0;
}

static int check_request(gm_device_array *array, PyObject *device, bool copy)
{
    int asked;
    if (gm_parse_device(device, &asked) < 0) {
        return -1;
    }
    if (asked >= 0 && asked != array->memory->device) {
        PyErr_Format(PyExc_ValueError, "device is %d, x is on device %d", asked,
                     array->memory->device);
        return -1;
    }
    if (!copy && !PyArray_ISWRITEABLE(array->layout)) {
        PyErr_SetString(PyExc_ValueError, "x is read-only, but a gpumem.DeviceArray is writeable; "
                                          "copy=True makes a copy");
        return -1;
    }
    return 0;
}

PyObject *gm_from_dlpack(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "device", "copy", NULL};
    PyObject *object, *device = Py_None, *copy = Py_None;
    const gm_backend *backend;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$OO:from_dlpack", names, &object, &device,
                                     &copy)) {
        return NULL;
    }
    if (copy != Py_None && !PyBool_Check(copy)) {
        return PyErr_Format(PyExc_TypeError, "copy must be a bool or None, not %.100s",
                            Py_TYPE(copy)->tp_name);
    }
    if (gm_check_unmasked(object, "x") < 0 || choose_backend(object, &backend) < 0) {
        return NULL;
    }
    gm_device_array *array = adopt(object, "x", backend, Py_None);
    if (!array) {
        return PyErr_Occurred()
                   ? NULL
                   : PyErr_Format(PyExc_TypeError,
                                  "x must have __dlpack__ or __cuda_array_interface__; "
                                  "%.100s has neither",
                                  Py_TYPE(object)->tp_name);
    }
    array->memory->has_producer = false; /* its stream may not live as long as this array */
    if (check_request(array, device, copy == Py_True) < 0) {
        Py_CLEAR(array);
    } else if (copy == Py_True) {
        Py_SETREF(array, gm_device_array_copy(array, NULL, false));
    }
    return (PyObject *)array;
}
