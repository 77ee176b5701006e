/* The type Prepared. */
#include "python/prepared.h"

#include <string.h>

#include "python/call_device.h"
#include "python/devices.h"
#include "python/errors.h"
#include "python/stream_context.h"

typedef struct gm_prepared {
    PyObject_HEAD gm_bound bound;
    PyObject *stream; /* a reference keeps it alive */
} gm_prepared;

static gm_status relaunch(const gm_prepared *self)
{
    const gm_device_memory *memory = self->bound.out->memory;
    int previous;
    gm_status status = memory->backend->use_device(memory->device, &previous);
    if (status != GM_OK) {
        return status;
    }
    status = gm_run_launch(&self->bound.run);
    gm_leave_device(memory, previous);
    return status;
}

/* Binds and plans on the arrays' device; 0, or -1 with an exception. */
static int bind_and_plan(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream)
{
    const gm_device_memory *memory = ((gm_device_array *)PyTuple_GET_ITEM(inputs, 0))->memory;
    gm_status status = GM_OK;
    int previous;
    if (gm_enter_device(memory, &previous) < 0) {
        return -1;
    }
    int failed = gm_bind_device(b, inputs, out, stream, Py_None);
    if (!failed && (b->given || b->copied)) {
        PyErr_Format(PyExc_ValueError, "%s must be C-contiguous and aligned to be prepared",
                     b->given ? "out" : "inputs");
        failed = -1;
    }
    if (!failed) {
        Py_BEGIN_ALLOW_THREADS
        status = gm_run_plan(&b->run);
        if (status == GM_OK) {
            status = gm_run_check(&b->run);
        }
        Py_END_ALLOW_THREADS
    }
    if (status != GM_OK) {
        gm_raise(status);
        failed = -1;
    }
    gm_leave_device(memory, previous);
    return failed;
}

PyObject *gm_core_prepare(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 6) {
        PyErr_SetString(PyExc_TypeError, "prepare takes 6 arguments: family, variant, inputs, "
                                         "out, stream, parameters");
        return NULL;
    }
    gm_prepared *self = PyObject_New(gm_prepared, &gm_prepared_type);
    if (!self) {
        return NULL;
    }
    self->stream = NULL;
    memset(self->bound.in, 0, sizeof self->bound.in);
    self->bound.out = NULL;
    self->bound.given = NULL;
    if (gm_bound_begin(&self->bound, args[0], args[1], args[2], args[3], args[5]) < 0) {
        goto fail;
    }
    if (!gm_is_device_array(PyTuple_GET_ITEM(args[2], 0)) ||
        (!self->bound.run.call.family->in_place && !gm_is_device_array(args[3]))) {
        PyErr_SetString(PyExc_TypeError, "prepare takes gpumem.DeviceArray inputs and out");
        goto fail;
    }
    if (bind_and_plan(&self->bound, args[2], args[3], args[4]) < 0) {
        goto fail;
    }
    self->stream = args[4] == Py_None ? gm_stream_context_keep() : Py_NewRef(args[4]);
    if (!self->stream) {
        goto fail;
    }
    return (PyObject *)self;
fail:
    Py_DECREF(self);
    return NULL;
}

static void prepared_dealloc(PyObject *object)
{
    gm_prepared *self = (gm_prepared *)object;
    gm_bound_clear(&self->bound);
    Py_XDECREF(self->stream);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *prepared_launch(PyObject *object, PyObject *unused)
{
    (void)unused;
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = relaunch((gm_prepared *)object);
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        return gm_raise(status);
    }
    Py_RETURN_NONE;
}

static PyObject *prepared_stream(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(((gm_prepared *)object)->bound.run.call.stream);
}

static PyObject *prepared_variant(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(((gm_prepared *)object)->bound.run.variant->name);
}

static PyGetSetDef prepared_attributes[] = {
    {"stream", prepared_stream, NULL, "Handle of the stream that it runs on.", NULL},
    {"variant", prepared_variant, NULL, "Name of the variant that runs; never \"auto\".", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef prepared_methods[] = {
    {"launch", prepared_launch, METH_NOARGS, "launch($self, /)\n--\n\nRun the call once."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject gm_prepared_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpumem._core.Prepared",
    .tp_basicsize = sizeof(gm_prepared),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A call bound to device arrays, ready to be repeated.",
    .tp_dealloc = prepared_dealloc,
    .tp_getset = prepared_attributes,
    .tp_methods = prepared_methods,
};

PyObject *gm_core_launch_all(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "launch_all takes 2 arguments: prepared, count");
        return NULL;
    }
    Py_ssize_t launches = PyNumber_AsSsize_t(args[1], PyExc_OverflowError);
    if (launches == -1 && PyErr_Occurred()) {
        return NULL;
    }
    /* A copy: the caller's list may change while the GIL is released. */
    PyObject *all = PySequence_Tuple(args[0]);
    if (!all) {
        return NULL;
    }
    Py_ssize_t kinds = PyTuple_GET_SIZE(all);
    for (Py_ssize_t i = 0; i < kinds; i++) {
        if (!PyObject_TypeCheck(PyTuple_GET_ITEM(all, i), &gm_prepared_type)) {
            PyErr_SetString(PyExc_TypeError, "prepared must hold Prepared calls only");
            Py_DECREF(all);
            return NULL;
        }
    }
    gm_status status = GM_OK;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; status == GM_OK && kinds > 0 && i < launches; i++) {
        status = relaunch((gm_prepared *)PyTuple_GET_ITEM(all, i % kinds));
    }
    Py_END_ALLOW_THREADS
    Py_DECREF(all);
    if (status != GM_OK) {
        return gm_raise(status);
    }
    Py_RETURN_NONE;
}
