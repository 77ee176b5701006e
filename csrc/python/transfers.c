/* Transfers that measurements repeat, and arrays that one side uses on the other. */
#include "python/transfers.h"

#include "memory/repeat.h"
#include "python/arrays.h"
#include "python/device_array.h"
#include "python/devices.h"
#include "python/errors.h"
#include "python/host_array.h"
#include "python/streams.h"
#include "python/values.h"

/* ---- between host and device ---------------------------------------------------------------- */

PyObject *gm_core_over(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"a", "backend", NULL};
    PyArrayObject *array;
    PyObject *backend_name = NULL;
    const gm_backend *backend;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!|O:over", names, &PyArray_Type, &array,
                                     &backend_name) ||
        gm_parse_backend(backend_name, &backend) < 0 ||
        gm_check_dtype(PyArray_DESCR(array), "a") < 0 ||
        PyArray_FailUnlessWriteable(array, "a") < 0) { /* a DeviceArray is writeable */
        return NULL;
    }
    if (gm_find_kind(array, backend) == GM_PAGEABLE) {
        return PyErr_Format(PyExc_ValueError,
                            "a is in memory that backend \"%s\" cannot reach, expected an array "
                            "of gpumem.empty(kind=...) on it, of any kind but 'pageable'",
                            backend->name);
    }
    return (PyObject *)gm_device_array_over(backend, array);
}

/* Both contiguous and of as many bytes, without overlap, the target writeable. */
static int check_transfer(gm_device_array *device, PyArrayObject *host, bool to_device)
{
    if (!PyArray_IS_C_CONTIGUOUS(device->layout) || !PyArray_IS_C_CONTIGUOUS(host)) {
        PyErr_Format(PyExc_ValueError, "%s is not C-contiguous",
                     PyArray_IS_C_CONTIGUOUS(host) ? "device" : "host");
        return -1;
    }
    if (PyArray_NBYTES(device->layout) != PyArray_NBYTES(host)) {
        PyErr_Format(PyExc_ValueError, "host has %lld byte%s, expected those of device, %lld",
                     (long long)PyArray_NBYTES(host), GM_PLURAL(PyArray_NBYTES(host)),
                     (long long)PyArray_NBYTES(device->layout));
        return -1;
    }
    if (!to_device && PyArray_FailUnlessWriteable(host, "host") < 0) {
        return -1;
    }
    int overlap = gm_overlaps(device->layout, host);
    if (overlap > 0) {
        PyErr_SetString(PyExc_ValueError, "host and device share memory");
    }
    return overlap ? -1 : 0;
}

static int check_repeat(const gm_repeat *repeat)
{
    int64_t copies;
    if (repeat->count < 0) {
        PyErr_Format(PyExc_ValueError, "count is %lld, expected at least 0",
                     (long long)repeat->count);
        return -1;
    }
    if (repeat->pieces < 1) {
        PyErr_Format(PyExc_ValueError, "pieces is %lld, expected at least 1",
                     (long long)repeat->pieces);
        return -1;
    }
    if (!gm_multiply(repeat->count, repeat->pieces, &copies)) {
        PyErr_Format(PyExc_ValueError, "count is %lld and pieces is %lld: too many copies",
                     (long long)repeat->count, (long long)repeat->pieces);
        return -1;
    }
    return 0;
}

PyObject *gm_core_transfer(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"device", "host",   "to_device", "count", "driver",
                            "pieces", "stream", "chunk",     NULL};
    gm_device_array *device;
    PyArrayObject *host;
    PyObject *stream = NULL, *chunk = NULL;
    long long count, pieces = 1;
    int to_device, driver;
    gm_route route;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!pLp|LOO:transfer", names,
                                     &gm_device_array_type, &device, &PyArray_Type, &host,
                                     &to_device, &count, &driver, &pieces, &stream, &chunk)) {
        return NULL;
    }
    const gm_repeat repeat = {count, pieces};
    route.backend = device->memory->backend;
    if (gm_parse_stream(stream, route.backend, &route.stream) < 0 ||
        gm_parse_chunk(chunk, &route.chunk) < 0 ||
        gm_check_dtype(PyArray_DESCR(host), "host") < 0 ||
        check_transfer(device, host, to_device) < 0 || check_repeat(&repeat) < 0) {
        return NULL;
    }
    route.kind = gm_find_kind(host, route.backend);
    void *here = PyArray_DATA(host), *there = PyArray_DATA(device->layout);
    int64_t bytes = PyArray_NBYTES(host);
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status =
        gm_repeat_transfer(&repeat, &route, driver, to_device ? there : here,
                           to_device ? here : there, bytes, to_device ? GM_TO_DEVICE : GM_TO_HOST);
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        return gm_raise(status);
    }
    Py_RETURN_NONE;
}

/* ---- between devices ------------------------------------------------------------------------ */

PyObject *gm_core_send(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"source", "target", "count", "pieces", NULL};
    gm_device_array *from, *to;
    long long count, pieces = 1;
    int previous;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!L|L:send", names, &gm_device_array_type,
                                     &from, &gm_device_array_type, &to, &count, &pieces)) {
        return NULL;
    }
    if (from->memory->backend != to->memory->backend) {
        return PyErr_Format(PyExc_ValueError, "target is on backend %s, source on %s",
                            to->memory->backend->name, from->memory->backend->name);
    }
    if (!PyArray_IS_C_CONTIGUOUS(from->layout) || !PyArray_IS_C_CONTIGUOUS(to->layout)) {
        return PyErr_Format(PyExc_ValueError, "%s is not C-contiguous",
                            PyArray_IS_C_CONTIGUOUS(from->layout) ? "target" : "source");
    }
    if (PyArray_NBYTES(from->layout) != PyArray_NBYTES(to->layout)) {
        return PyErr_Format(
            PyExc_ValueError, "target has %lld byte%s, expected those of source, %lld",
            (long long)PyArray_NBYTES(to->layout), GM_PLURAL(PyArray_NBYTES(to->layout)),
            (long long)PyArray_NBYTES(from->layout));
    }
    int overlap = gm_overlaps(from->layout, to->layout);
    if (overlap) {
        return overlap < 0 ? NULL
                           : PyErr_Format(PyExc_ValueError, "source and target share memory");
    }
    const gm_repeat repeat = {count, pieces};
    if (check_repeat(&repeat) < 0 || gm_enter_device(from->memory, &previous) < 0) {
        return NULL;
    }
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = gm_wait_until_free(to->memory);
    if (status == GM_OK) {
        status = gm_repeat_send(&repeat, from->memory, PyArray_DATA(from->layout), to->memory,
                                PyArray_DATA(to->layout), PyArray_NBYTES(from->layout), NULL);
    }
    Py_END_ALLOW_THREADS
    gm_leave_device(from->memory, previous);
    if (status != GM_OK) {
        return gm_raise(status);
    }
    Py_RETURN_NONE;
}

PyObject *gm_core_can_reach(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"device", "other", "backend", NULL};
    PyObject *name = NULL;
    const gm_backend *backend;
    int device, other;
    bool can;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "ii|O:can_reach", names, &device, &other,
                                     &name) ||
        gm_parse_backend(name, &backend) < 0) {
        return NULL;
    }
    gm_status status = backend->can_reach(device, other, &can);
    return status == GM_OK ? PyBool_FromLong(can) : gm_raise(status);
}

PyObject *gm_core_let_reach(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"device", "other", "on", "backend", NULL};
    PyObject *name = NULL;
    const gm_backend *backend;
    int device, other, on;
    bool before;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "iip|O:let_reach", names, &device, &other, &on,
                                     &name) ||
        gm_parse_backend(name, &backend) < 0) {
        return NULL;
    }
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = backend->let_reach(device, other, on, &before);
    Py_END_ALLOW_THREADS
    return status == GM_OK ? PyBool_FromLong(before) : gm_raise(status);
}

static void drop(void *memory)
{
    gm_device_memory_drop(memory);
}

PyObject *gm_core_reach(PyObject *module, PyObject *args)
{
    gm_device_array *array;
    gm_device_memory *memory;
    int device;
    bool can;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!i:reach", &gm_device_array_type, &array, &device)) {
        return NULL;
    }
    const gm_backend *backend = array->memory->backend;
    gm_status status = backend->can_reach(device, array->memory->device, &can);
    if (status == GM_OK && !can) {
        status = gm_fail(GM_ERROR_VALUE, "device %d cannot reach the memory of device %d", device,
                         array->memory->device);
    }
    if (status == GM_OK) {
        status = gm_device_memory_none(backend, &memory);
    }
    if (status != GM_OK) {
        return gm_raise(status);
    }
    memory->device = device;
    memory->owner = gm_device_memory_keep(array->memory);
    memory->forget = drop;
    return (PyObject *)gm_device_array_wrap(
        memory, (PyArrayObject *)PyArray_View(array->layout, NULL, &PyArray_Type));
}
