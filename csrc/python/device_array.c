/* Device arrays: made, filled, and copied between devices and the host. */
#include "python/device_array.h"

#include "call/run.h"
#include "memory/repeat.h"
#include "memory/transfer.h"
#include "python/arrays.h"
#include "python/devices.h"
#include "python/errors.h"
#include "python/host_array.h"
#include "python/streams.h"

gm_device_array *gm_device_array_new(const gm_backend *backend, PyArray_Descr *dtype, int ndim,
                                     const npy_intp *shape)
{
    int64_t bytes;
    if (gm_count_bytes(dtype, ndim, shape, &bytes) < 0) {
        return NULL;
    }
    gm_device_memory *memory;
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = gm_device_memory_new(backend, bytes, &memory);
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        gm_raise(status);
        return NULL;
    }
    Py_INCREF(dtype);
    PyObject *layout = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL,
                                            memory->address, NPY_ARRAY_WRITEABLE, NULL);
    return gm_device_array_wrap(memory, (PyArrayObject *)layout);
}

gm_device_array *gm_device_array_over(const gm_backend *backend, PyArrayObject *array)
{
    gm_device_memory *memory;
    gm_status status = gm_device_memory_none(backend, &memory);
    if (status != GM_OK) {
        gm_raise(status);
        return NULL;
    }
    return gm_device_array_wrap(memory, (PyArrayObject *)PyArray_View(array, NULL, &PyArray_Type));
}

/* ---- between host and device ---------------------------------------------------------------- */

/* Between the layout of a device array and a host array, both contiguous. */
static gm_status move(const gm_backend *backend, PyArrayObject *layout, PyArrayObject *host,
                      gm_direction direction, gm_stream stream)
{
    void *device = PyArray_DATA(layout), *at = PyArray_DATA(host);
    const gm_route route = {backend, stream, gm_find_kind(host, backend), 0};
    int64_t bytes = PyArray_NBYTES(host);
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = direction == GM_TO_DEVICE ? gm_transfer_new(&route, device, at, bytes)
                                       : gm_transfer(&route, at, device, bytes, direction);
    Py_END_ALLOW_THREADS
    return status;
}

gm_device_array *gm_device_array_from_host(PyObject *object, PyObject *stream_object,
                                           const gm_backend *backend)
{
    gm_device_array *made = NULL;
    gm_stream stream;
    if (gm_parse_waited_stream(stream_object, backend, &stream) < 0) {
        return NULL;
    }
    PyArrayObject *array = gm_host_array(object, "a");
    if (array) {
        Py_SETREF(array, gm_contiguous(array));
    }
    if (array) {
        made = gm_device_array_new(backend, PyArray_DESCR(array), PyArray_NDIM(array),
                                   PyArray_DIMS(array));
    }
    if (made) {
        gm_status status = move(backend, made->layout, array, GM_TO_DEVICE, stream);
        if (status != GM_OK) {
            Py_CLEAR(made);
            gm_raise(status);
        }
    }
    Py_XDECREF(array);
    return made;
}

/* ---- on the device -------------------------------------------------------------------------- */

gm_status gm_device_array_copy_to(gm_device_array *array, gm_device_array *out, gm_stream stream,
                                  bool nonblocking)
{
    gm_run run;
    gm_status status = gm_run_begin_copy(&run, array->memory, out->memory);
    if (status != GM_OK) {
        return status;
    }
    run.call.stream = stream;
    run.nonblocking = nonblocking;
    gm_describe(array->layout, GM_DEVICE, &run.call.in[0]);
    gm_describe(out->layout, GM_DEVICE, &run.call.out);
    Py_BEGIN_ALLOW_THREADS
    status = gm_run_call(&run);
    Py_END_ALLOW_THREADS
    return status;
}

int gm_device_array_queue(const gm_device_array *array, PyObject *stream_object, gm_stream *stream,
                          bool *nonblocking)
{
    int previous;
    if (gm_enter_device(array->memory, &previous) < 0) {
        return -1;
    }
    int failed = gm_parse_queue(stream_object, array->memory->backend, stream, nonblocking);
    gm_leave_device(array->memory, previous);
    return failed;
}

/* The array's device is the current one. */
static gm_device_array *copied(gm_device_array *array, gm_stream stream, bool nonblocking)
{
    PyArrayObject *layout = array->layout;
    gm_device_array *copy = gm_device_array_new(array->memory->backend, PyArray_DESCR(layout),
                                                PyArray_NDIM(layout), PyArray_DIMS(layout));
    gm_status status = copy ? gm_device_array_copy_to(array, copy, stream, nonblocking) : GM_OK;
    if (status != GM_OK) {
        Py_CLEAR(copy);
        gm_raise(status);
    }
    return copy;
}

gm_device_array *gm_device_array_copy(gm_device_array *array, gm_stream stream, bool nonblocking)
{
    int previous;
    if (gm_enter_device(array->memory, &previous) < 0) {
        return NULL;
    }
    gm_device_array *copy = copied(array, stream, nonblocking);
    gm_leave_device(array->memory, previous);
    return copy;
}

gm_status gm_device_array_fill(gm_device_array *self, int byte, gm_stream stream, bool nonblocking)
{
    const gm_backend *backend = self->memory->backend;
    gm_joined before = {false, NULL}, after = {false, NULL};
    int previous;
    gm_status status = backend->use_device(self->memory->device, &previous);
    if (status != GM_OK) {
        return status;
    }
    status =
        nonblocking ? backend->stream_join(stream, NULL) : gm_device_memory_settle(self->memory);
    if (status == GM_OK) {
        status = gm_device_memory_follow(self->memory, stream, &before);
    }
    if (status == GM_OK) {
        status =
            backend->fill(PyArray_DATA(self->layout), byte, PyArray_NBYTES(self->layout), stream);
    }
    if (status == GM_OK) {
        status = gm_device_memory_worked(self->memory, stream, nonblocking, &after);
    }
    gm_leave_device(self->memory, previous);
    return status;
}

/* ---- to the host, and to other devices ------------------------------------------------------- */

/* The array itself if it is contiguous; a new reference. */
static gm_device_array *pack(gm_device_array *array, gm_stream stream)
{
    return PyArray_IS_C_CONTIGUOUS(array->layout) ? (gm_device_array *)Py_NewRef((PyObject *)array)
                                                  : copied(array, stream, false);
}

/* The array's device is the current one. */
static PyObject *bring(gm_device_array *self, PyArrayObject *out, gm_stream stream)
{
    const gm_backend *backend = self->memory->backend;
    gm_device_array *packed = pack(self, stream);
    if (!packed) {
        return NULL;
    }
    PyArrayObject *layout = packed->layout, *host = NULL;
    gm_status status = gm_device_memory_settle(self->memory);
    if (status == GM_OK) {
        if (out && PyArray_IS_C_CONTIGUOUS(out)) {
            host = (PyArrayObject *)Py_NewRef((PyObject *)out);
        } else {
            host = gm_host_result_new(backend, PyArray_DESCR(layout), PyArray_NDIM(layout),
                                      PyArray_DIMS(layout));
            if (!host) {
                Py_DECREF(packed);
                return NULL;
            }
        }
        status = move(backend, layout, host, GM_TO_HOST, stream);
    }
    Py_DECREF(packed);
    if (status != GM_OK) {
        Py_XDECREF(host);
        return gm_raise(status);
    }
    if (out && host != out) {
        int copied_out = gm_copy_into(out, host);
        Py_DECREF(host);
        return copied_out < 0 ? NULL : Py_NewRef((PyObject *)out);
    }
    return (PyObject *)host;
}

PyObject *gm_device_array_to_host(gm_device_array *self, PyArrayObject *out,
                                  PyObject *stream_object)
{
    PyObject *host = NULL;
    gm_stream stream;
    int previous;
    if (gm_enter_device(self->memory, &previous) < 0) {
        return NULL;
    }
    if (gm_parse_waited_stream(stream_object, self->memory->backend, &stream) == 0) {
        host = bring(self, out, stream);
    }
    gm_leave_device(self->memory, previous);
    return host;
}

/* Of a contiguous array, whose device is the current one. */
static gm_device_array *send_packed(gm_device_array *array, int device, gm_stream stream)
{
    const gm_backend *backend = array->memory->backend;
    PyArrayObject *layout = array->layout;
    const gm_repeat once = {.count = 1, .pieces = 1};
    int previous;
    if (gm_enter_numbered(backend, device, &previous) < 0) {
        return NULL;
    }
    gm_device_array *copy = gm_device_array_new(backend, PyArray_DESCR(layout),
                                                PyArray_NDIM(layout), PyArray_DIMS(layout));
    gm_leave_numbered(backend, previous);
    if (!copy) {
        return NULL;
    }
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = gm_connect(array->memory, copy->memory);
    if (status == GM_OK) {
        status = gm_wait_until_free(copy->memory);
    }
    if (status == GM_OK) {
        status = gm_repeat_send(&once, array->memory, PyArray_DATA(layout), copy->memory,
                                PyArray_DATA(copy->layout), PyArray_NBYTES(layout), stream);
    }
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        Py_DECREF(copy);
        gm_raise(status);
        return NULL;
    }
    return copy;
}

/* The array's device is the current one. */
static gm_device_array *send(gm_device_array *self, int device, PyObject *stream_object)
{
    gm_stream stream;
    if (gm_parse_waited_stream(stream_object, self->memory->backend, &stream) < 0) {
        return NULL;
    }
    gm_device_array *packed = pack(self, stream), *sent = NULL;
    if (packed) {
        gm_status status = gm_device_memory_settle(self->memory);
        if (status == GM_OK) {
            sent = send_packed(packed, device, stream);
        } else {
            gm_raise(status);
        }
        Py_DECREF(packed);
    }
    return sent;
}

gm_device_array *gm_device_array_send(gm_device_array *array, int device, PyObject *stream)
{
    int previous;
    if (gm_enter_device(array->memory, &previous) < 0) {
        return NULL;
    }
    gm_device_array *sent = send(array, device, stream);
    gm_leave_device(array->memory, previous);
    return sent;
}
