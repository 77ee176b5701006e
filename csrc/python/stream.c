/* gpumem.Stream and the timing events behind gpumem.bench. */
#include "python/python.h"

typedef struct gm_event_object {
    PyObject_HEAD const gm_backend *backend;
    gm_event handle;
} gm_event_object;

static int parse_only_backend(PyObject *args, PyObject *keywords, const char *format,
                              const gm_backend **backend)
{
    static char *names[] = {"backend", NULL};
    PyObject *name = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, format, names, &name)) {
        return -1;
    }
    return gm_parse_backend(name, backend);
}

static PyObject *stream_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const gm_backend *backend;
    if (parse_only_backend(args, keywords, "|$O:Stream", &backend) < 0) {
        return NULL;
    }
    gm_stream_object *self = (gm_stream_object *)type->tp_alloc(type, 0);
    if (!self) {
        return NULL;
    }
    gm_status status = backend->stream_create(&self->handle);
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

static PyGetSetDef stream_attributes[] = {
    {"backend", stream_backend, NULL, "\"cuda\" or \"sim\".", NULL},
    {"handle", stream_handle, NULL, "The cudaStream_t as an integer.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef stream_methods[] = {
    {"synchronize", stream_synchronize, METH_NOARGS,
     "synchronize()\n--\n\nWait for all work put on this stream."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject gm_stream_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpumem.Stream",
    .tp_basicsize = sizeof(gm_stream_object),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Stream(*, backend=None)\n--\n\n"
              "A queue of work on a backend: what is put on one stream runs in order.",
    .tp_new = stream_new,
    .tp_dealloc = stream_dealloc,
    .tp_getset = stream_attributes,
    .tp_methods = stream_methods,
};

static PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const gm_backend *backend;
    if (parse_only_backend(args, keywords, "|$O:Event", &backend) < 0) {
        return NULL;
    }
    gm_event_object *self = (gm_event_object *)type->tp_alloc(type, 0);
    if (!self) {
        return NULL;
    }
    gm_status status = backend->event_create(&self->handle);
    if (status != GM_OK) {
        Py_DECREF(self);
        return gm_raise(status);
    }
    self->backend = backend;
    return (PyObject *)self;
}

static void event_dealloc(PyObject *object)
{
    gm_event_object *self = (gm_event_object *)object;
    if (self->backend) {
        self->backend->event_destroy(self->handle);
    }
    Py_TYPE(object)->tp_free(object);
}

static PyObject *event_record(PyObject *object, PyObject *args)
{
    gm_event_object *self = (gm_event_object *)object;
    PyObject *stream_object = NULL;
    gm_stream stream;
    if (!PyArg_ParseTuple(args, "|O:record", &stream_object) ||
        gm_parse_stream(stream_object, self->backend, &stream) < 0) {
        return NULL;
    }
    gm_status status = self->backend->event_record(self->handle, stream);
    if (status != GM_OK) {
        return gm_raise(status);
    }
    Py_RETURN_NONE;
}

static PyObject *event_elapsed(PyObject *object, PyObject *later)
{
    gm_event_object *self = (gm_event_object *)object;
    if (!PyObject_TypeCheck(later, &gm_event_type) ||
        ((gm_event_object *)later)->backend != self->backend) {
        PyErr_SetString(PyExc_TypeError, "later must be an Event of the same backend");
        return NULL;
    }
    float milliseconds = 0;
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = self->backend->event_elapsed(self->handle, ((gm_event_object *)later)->handle,
                                          &milliseconds);
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        return gm_raise(status);
    }
    return PyFloat_FromDouble(milliseconds);
}

static PyMethodDef event_methods[] = {
    {"record", event_record, METH_VARARGS,
     "record(stream=None)\n--\n\nMark this moment on a stream."},
    {"elapsed", event_elapsed, METH_O,
     "elapsed(later, /)\n--\n\nMilliseconds from this event to a later one; waits for that one."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject gm_event_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpumem._core.Event",
    .tp_basicsize = sizeof(gm_event_object),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Event(*, backend=None)\n--\n\nA moment on a stream; the simulator has none.",
    .tp_new = event_new,
    .tp_dealloc = event_dealloc,
    .tp_methods = event_methods,
};
