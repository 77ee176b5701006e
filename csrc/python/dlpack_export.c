/*
 * Lends arrays to other libraries by DLPack: a capsule that holds a tensor.
 *
 * The consumer renames the capsule; a capsule that nobody consumed deletes its tensor itself.
 */
#include "python/dlpack_export.h"

#include "python/device_array.h"
#include "python/devices.h"
#include "python/dlpack_device.h"
#include "python/dlpack_lent.h"
#include "python/errors.h"
#include "python/streams.h"

/* Runs for every capsule: it still has its first name if nobody consumed it. */
static void capsule_dealloc(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, gm_dlpack_legacy)) {
        DLManagedTensor *legacy = PyCapsule_GetPointer(capsule, gm_dlpack_legacy);
        legacy->deleter(legacy);
    } else if (PyCapsule_IsValid(capsule, gm_dlpack_versioned)) {
        DLManagedTensorVersioned *versioned = PyCapsule_GetPointer(capsule, gm_dlpack_versioned);
        versioned->deleter(versioned);
    }
}

static PyObject *lend(const gm_device_array *array, bool versioned, bool copied)
{
    void *tensor =
        versioned ? (void *)gm_lend_versioned(array, copied) : (void *)gm_lend_legacy(array);
    const char *name = versioned ? gm_dlpack_versioned : gm_dlpack_legacy;
    PyObject *capsule = tensor ? PyCapsule_New(tensor, name, capsule_dealloc) : NULL;
    if (tensor && !capsule && versioned) {
        ((DLManagedTensorVersioned *)tensor)->deleter(tensor);
    } else if (tensor && !capsule) {
        ((DLManagedTensor *)tensor)->deleter(tensor);
    }
    return capsule;
}

/* The consumer's stream, numbered as the array API does: None and 1 are the legacy default stream,
 * 2 is the thread's default stream, and -1 asks for no synchronization. */
static int parse_consumer(PyObject *object, const gm_backend *backend, gm_stream *stream,
                          bool *ordered)
{
    *stream = NULL;
    *ordered = true;
    if (object == Py_None) {
        return 0;
    }
    if (PyBool_Check(object) || !PyLong_Check(object)) {
        PyErr_Format(PyExc_TypeError, "stream must be an int or None, not %.100s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (number == -1 && !overflow) {
        *ordered = false;
        return 0;
    }
    if (backend->host_memory) {
        gm_raise_about(PyExc_ValueError,
                       "stream is %.80R; the array is in host memory, which has no streams",
                       object);
        return -1;
    }
    if (overflow > 0 || number > 0) {
        return gm_parse_stream(object, backend, stream);
    }
    gm_raise_about(PyExc_ValueError,
                   "stream is %.80R, expected None, -1 (no synchronization), 1 (the legacy default "
                   "stream), 2 (the thread's default stream) or a cudaStream_t",
                   object);
    return -1;
}

/* Makes the consumer's stream wait for work on the array, whose device is the current one. */
static gm_status hand_over(gm_device_array *array, gm_stream stream, bool ordered)
{
    if (!ordered) {
        return GM_OK;
    }
    gm_status status = gm_device_memory_settle(array->memory);
    return status == GM_OK ? array->memory->backend->stream_join(stream, NULL) : status;
}

static PyObject *lend_in_order(gm_device_array *array, PyObject *stream_object, bool versioned,
                               bool copied)
{
    gm_stream stream;
    bool ordered;
    if (parse_consumer(stream_object, array->memory->backend, &stream, &ordered) < 0) {
        return NULL;
    }
    PyObject *capsule = lend(array, versioned, copied);
    gm_status status = capsule ? hand_over(array, stream, ordered) : GM_OK;
    status = capsule && status == GM_OK ? gm_expect_writes(array) : status;
    if (status != GM_OK) {
        Py_CLEAR(capsule);
        gm_raise(status);
    }
    return capsule;
}

/* A copy on the host, lent by NumPy. */
static PyObject *lend_from_host(gm_device_array *array, PyObject *max_version)
{
    PyObject *host = gm_device_array_to_host(array, NULL, NULL), *capsule = NULL;
    PyObject *method = host ? PyObject_GetAttrString(host, "__dlpack__") : NULL;
    PyObject *none = PyTuple_New(0), *keywords = PyDict_New();
    if (method && none && keywords &&
        (max_version == Py_None ||
         PyDict_SetItemString(keywords, "max_version", max_version) == 0)) {
        capsule = PyObject_Call(method, none, keywords);
    }
    Py_XDECREF(keywords);
    Py_XDECREF(none);
    Py_XDECREF(method);
    Py_XDECREF(host);
    return capsule;
}

PyObject *gm_dlpack_export(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    gm_device_array *self = (gm_device_array *)object;
    PyObject *stream = Py_None, *max_version = Py_None, *device_object = Py_None;
    PyObject *copy = Py_None, *capsule = NULL;
    int major = 0, minor, type, id, previous;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO:__dlpack__", names, &stream,
                                     &max_version, &device_object, &copy) ||
        (max_version != Py_None && gm_parse_pair(max_version, "max_version", &major, &minor) < 0)) {
        return NULL;
    }
    if (copy != Py_None && !PyBool_Check(copy)) {
        return PyErr_Format(PyExc_TypeError, "copy must be a bool or None, not %.100s",
                            Py_TYPE(copy)->tp_name);
    }
    if (device_object != Py_None) {
        DLDevice here = gm_dlpack_device_of(self->memory);
        if (gm_parse_pair(device_object, "dl_device", &type, &id) < 0) {
            return NULL;
        }
        if (type == kDLCPU && here.device_type != kDLCPU && copy != Py_False) {
            return lend_from_host(self, max_version);
        }
        if (type != (int)here.device_type || id != here.device_id) {
            return PyErr_Format(PyExc_BufferError,
                                "the array is on device (%d, %d), and dl_device is (%d, %d)%s",
                                here.device_type, here.device_id, type, id,
                                type == kDLCPU ? ", where only a copy could be" : "");
        }
    }
    if (copy == Py_True) {
        self = gm_device_array_copy(self, NULL, false);
    } else {
        Py_INCREF(self);
    }
    if (self && gm_enter_device(self->memory, &previous) == 0) {
        capsule = lend_in_order(self, stream, major >= 1, copy == Py_True);
        gm_leave_device(self->memory, previous);
    }
    Py_XDECREF(self);
    return capsule;
}

PyObject *gm_dlpack_device(PyObject *object, PyObject *unused)
{
    (void)unused;
    DLDevice device = gm_dlpack_device_of(((gm_device_array *)object)->memory);
    return Py_BuildValue("ii", (int)device.device_type, (int)device.device_id);
}
