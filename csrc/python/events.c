/* Events. */
#include "python/events.h"

#include "python/errors.h"
#include "python/streams.h"
#include "python/values.h"

typedef struct gm_event_object {
    PyObject_HEAD const gm_backend *backend;
    gm_event handle;
} gm_event_object;

static PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const gm_backend *backend;
    if (gm_parse_only_backend(args, keywords, "|$O:Event", &backend) < 0) {
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
     "record($self, stream=None)\n--\n\nRecord the event after the work on a stream."},
    {"elapsed", event_elapsed, METH_O,
     "elapsed($self, later, /)\n--\n\nMilliseconds from this event to a later one; waits for the "
     "later "
     "one."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject gm_event_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpumem._core.Event",
    .tp_basicsize = sizeof(gm_event_object),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Event(*, backend=None)\n--\n\nA point on a stream's timeline; the simulator has no "
              "events.",
    .tp_new = event_new,
    .tp_dealloc = event_dealloc,
    .tp_methods = event_methods,
};
