/* Streams of gpumem, and handles from other libraries' streams. */
#include "python/streams.h"

#include <stdint.h>

#include "python/errors.h"
#include "python/stream_context.h"
#include "python/values.h"

/* ---- what is accepted ----------------------------------------------------------------------- */

/* The CUDA runtime's numbers: 0 and 1 are the legacy default stream, 2 the thread's. */
static int parse_handle(PyObject *object, gm_stream *stream)
{
    PyObject *index = PyNumber_Index(object);
    unsigned long long handle = index ? PyLong_AsUnsignedLongLong(index) : 0;
    Py_XDECREF(index);
    if (!PyErr_Occurred() && handle <= UINTPTR_MAX) {
        *stream = handle == 1 ? NULL : (gm_stream)(uintptr_t)handle;
        return 0;
    }
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        gm_raise_about(PyExc_ValueError, "stream is %.80S, which is not a cudaStream_t", object);
    }
    return -1;
}

/* The pair of __cuda_stream__, a method in some libraries and an attribute in others. */
static int parse_protocol(PyObject *protocol, gm_stream *stream)
{
    PyObject *pair =
        PyCallable_Check(protocol) ? PyObject_CallNoArgs(protocol) : Py_NewRef(protocol);
    if (!pair) {
        return -1;
    }
    int parsed = -1;
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2 ||
        !PyLong_Check(PyTuple_GET_ITEM(pair, 0)) || !PyIndex_Check(PyTuple_GET_ITEM(pair, 1))) {
        gm_raise_about(PyExc_TypeError,
                       "stream has __cuda_stream__ %.80R, expected a version and a handle", pair);
    } else if (PyLong_AsLong(PyTuple_GET_ITEM(pair, 0)) != 0) {
        PyErr_Clear();
        gm_raise_about(PyExc_ValueError, "stream has __cuda_stream__ %.80R, known is version 0",
                       pair);
    } else {
        parsed = parse_handle(PyTuple_GET_ITEM(pair, 1), stream);
    }
    Py_DECREF(pair);
    return parsed;
}

/* Numba's handle is a ctypes object, whose value is None for 0, or converts to an int. */
static int parse_wrapped(PyObject *wrapped, gm_stream *stream)
{
    PyObject *value;
    if (PyIndex_Check(wrapped)) {
        return parse_handle(wrapped, stream);
    }
    if (gm_optional_attribute(wrapped, "value", &value) < 0) {
        return -1;
    }
    if (!value) {
        value = PyNumber_Long(wrapped);
    } else if (value == Py_None) {
        Py_SETREF(value, PyLong_FromLong(0));
    }
    int parsed = value ? parse_handle(value, stream) : -1;
    Py_XDECREF(value);
    return parsed;
}

/* 1 if it is a stream of another library, 0 if not, -1 with an exception. */
static int parse_foreign(PyObject *object, gm_stream *stream)
{
    /* Of PyTorch, CuPy and Numba. Other objects may have such attributes too. */
    static const char *const names[] = {"cuda_stream", "ptr", "handle"};
    PyObject *value;
    if (gm_is_integer(object)) {
        if (parse_handle(object, stream) == 0) {
            return 1;
        }
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
            return -1;
        }
        PyErr_Clear(); /* such as an array of several numbers */
        return 0;
    }
    if (gm_optional_attribute(object, "__cuda_stream__", &value) < 0) {
        return -1;
    }
    if (value) {
        int parsed = parse_protocol(value, stream);
        Py_DECREF(value);
        return parsed < 0 ? -1 : 1;
    }
    int is_stream = gm_has_attribute(object, "synchronize");
    if (is_stream <= 0) {
        return is_stream;
    }
    for (int i = 0; i < 3; i++) {
        if (gm_optional_attribute(object, names[i], &value) < 0) {
            return -1;
        }
        if (value) {
            int parsed = parse_wrapped(value, stream);
            Py_DECREF(value);
            return parsed < 0 ? -1 : 1;
        }
    }
    return 0;
}

/* As gm_parse_queue, but None is the default stream. */
static int parse(PyObject *object, const gm_backend *backend, gm_stream *stream, bool *nonblocking)
{
    *stream = NULL;
    *nonblocking = false;
    if (!object || object == Py_None) {
        return 0;
    }
    if (PyObject_TypeCheck(object, &gm_stream_type)) {
        const gm_stream_object *given = (const gm_stream_object *)object;
        if (given->backend != backend) {
            PyErr_Format(PyExc_ValueError,
                         "stream belongs to backend \"%s\", the call runs on \"%s\"",
                         given->backend->name, backend->name);
            return -1;
        }
        *stream = given->handle;
        return 0;
    }
    int found = PyBool_Check(object) || PyType_Check(object) ? 0 : parse_foreign(object, stream);
    if (found == 0) {
        PyErr_Format(PyExc_TypeError,
                     "stream must be a gpumem.Stream, a cudaStream_t as an int, a stream of "
                     "another library or None, not %.100s",
                     Py_TYPE(object)->tp_name);
    } else if (found > 0 && backend->host_memory) {
        PyErr_Format(PyExc_ValueError, "stream is a CUDA stream, the call runs on \"%s\"",
                     backend->name);
    } else if (found > 0) {
        gm_status status = backend->stream_is_nonblocking(*stream, nonblocking);
        if (status == GM_OK) {
            return 0;
        }
        gm_raise(status);
    }
    return -1;
}

int gm_parse_stream(PyObject *object, const gm_backend *backend, gm_stream *stream)
{
    bool nonblocking;
    return parse(object, backend, stream, &nonblocking);
}

int gm_parse_queue(PyObject *object, const gm_backend *backend, gm_stream *stream,
                   bool *nonblocking)
{
    if (parse(object, backend, stream, nonblocking) < 0) {
        return -1;
    }
    return !object || object == Py_None ? gm_stream_context_find(backend, stream) : 0;
}

int gm_parse_waited_stream(PyObject *object, const gm_backend *backend, gm_stream *stream)
{
    bool nonblocking;
    if (gm_parse_queue(object, backend, stream, &nonblocking) < 0) {
        return -1;
    }
    if (nonblocking) {
        gm_status status = backend->stream_join(NULL, *stream);
        if (status != GM_OK) {
            gm_raise(status);
            return -1;
        }
        *stream = NULL;
    }
    return 0;
}

PyObject *gm_core_check_stream(PyObject *module, PyObject *args)
{
    PyObject *object, *name;
    const gm_backend *backend;
    gm_stream stream;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO:check_stream", &object, &name) ||
        gm_parse_backend(name, &backend) < 0 || gm_parse_stream(object, backend, &stream) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- the type ------------------------------------------------------------------------------- */

static PyObject *stream_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const gm_backend *backend;
    if (gm_parse_only_backend(args, keywords, "|$O:Stream", &backend) < 0) {
        return NULL;
    }
    gm_stream_object *self = (gm_stream_object *)type->tp_alloc(type, 0);
    if (!self) {
        return NULL;
    }
    gm_status status = backend->current_device(&self->device);
    if (status == GM_OK) {
        status = backend->stream_create(&self->handle);
    }
    if (status != GM_OK) {
        Py_DECREF(self);
        return gm_raise(status);
    }
    self->backend = backend;
    return (PyObject *)self;
}

static void stream_dealloc(PyObject *object)
{
    gm_stream_object *self = (gm_stream_object *)object;
    if (self->backend) {
        self->backend->stream_destroy(self->handle);
    }
    Py_TYPE(object)->tp_free(object);
}

static PyObject *stream_synchronize(PyObject *object, PyObject *unused)
{
    (void)unused;
    gm_stream_object *self = (gm_stream_object *)object;
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = self->backend->wait(self->handle);
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        return gm_raise(status);
    }
    Py_RETURN_NONE;
}

static PyObject *stream_backend(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(((gm_stream_object *)object)->backend->name);
}

static PyObject *stream_handle(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(((gm_stream_object *)object)->handle);
}

static PyObject *stream_protocol(PyObject *object, PyObject *unused)
{
    (void)unused;
    const gm_stream_object *self = (const gm_stream_object *)object;
    if (self->backend->host_memory) {
        return gm_raise(
            gm_fail(GM_ERROR_UNAVAILABLE, "other libraries cannot use a stream of the simulator"));
    }
    return Py_BuildValue("iN", 0, PyLong_FromVoidPtr(self->handle));
}

static PyGetSetDef stream_attributes[] = {
    {"backend", stream_backend, NULL, "\"cuda\" or \"sim\".", NULL},
    {"handle", stream_handle, NULL, "The cudaStream_t as an integer.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef stream_methods[] = {
    {"synchronize", stream_synchronize, METH_NOARGS,
     "synchronize($self, /)\n--\n\nWait for all work on this stream."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> stream = gm.Stream(backend='sim')\n"
     ">>> stream.synchronize()"},
    {"__cuda_stream__", stream_protocol, METH_NOARGS,
     "__cuda_stream__($self, /)\n--\n\n"
     "The version of the protocol, 0, and the cudaStream_t, for other libraries."},
    {"__enter__", gm_stream_enter, METH_NOARGS,
     "__enter__($self, /)\n--\n\n"
     "Calls without a stream join this one, in this thread or task, until the `with` ends."},
    {"__exit__", gm_stream_exit, METH_VARARGS,
     "__exit__($self, /, *args)\n--\n\nEnd that. It does not wait for the stream."},
    {"current", (PyCFunction)(void (*)(void))gm_stream_current,
     METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "current($type, *, backend=None)\n--\n\n"
     "The stream that calls without one join on the current device; None: the default stream."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> with gm.Stream(backend='sim') as stream:\n"
     "...     gm.Stream.current(backend='sim') is stream\n"
     "True"},
    {NULL, NULL, 0, NULL},
};

PyTypeObject gm_stream_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpumem.Stream",
    .tp_basicsize = sizeof(gm_stream_object),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Stream(*, backend=None)\n--\n\n"
              "A queue of work on a backend: work on one stream runs in order.\n\n"
              "Inside ``with stream:``, calls and copies of the same backend and device that are\n"
              "given no stream join it, in this thread or task of asyncio; leaving does not wait.\n"
              "`from_dlpack`, events, and what was prepared before stay on their streams."
              "\n\nExamples\n--------\n"
              ">>> import numpy as np, gpumem as gm\n"
              ">>> stream = gm.Stream(backend='sim')\n"
              ">>> a = gm.to_device(np.arange(3), stream=stream, backend='sim')\n"
              ">>> b = gm.copy(a, stream=stream)\n"
              ">>> stream.synchronize()\n"
              ">>> b.to_host()\n"
              "array([0, 1, 2])",
    .tp_new = stream_new,
    .tp_dealloc = stream_dealloc,
    .tp_getset = stream_attributes,
    .tp_methods = stream_methods,
};
