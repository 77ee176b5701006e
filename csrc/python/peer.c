/* Which device an array is on, and what travels from one device to another. */
#include "memory/chunk.h"
#include "python/python.h"

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
    Py_ssize_t number =
        PyNumber_AsSsize_t(object, NULL); /* what is too large becomes the largest */
    if (number == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (number < 0 || number > INT_MAX) {
        PyErr_Format(PyExc_ValueError, "device is %.80R, there is no such device", object);
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
        gm_error before = *gm_last_error();
        backend->use_device(previous, &previous);
        *gm_last_error() = before;
    }
}

/* ---- copies --------------------------------------------------------------------------------- */

/* All bytes count times, each time in pieces, which are waited for. The current device is that of
 * `from`. */
static gm_status send(const gm_device_array *from, const gm_device_array *to, long long count,
                      long long pieces, gm_stream stream)
{
    const gm_backend *backend = from->memory->backend;
    const char *begin = PyArray_DATA(from->layout);
    char *end = PyArray_DATA(to->layout);
    int64_t bytes = PyArray_NBYTES(from->layout), least = bytes / pieces, longer = bytes % pieces;
    gm_status status = GM_OK;
    for (long long i = 0; status == GM_OK && i < count * pieces; i++) {
        int64_t piece = i % pieces;
        int64_t at = piece * least + (piece < longer ? piece : longer);
        status = backend->send(end + at, to->memory->device, begin + at, least + (piece < longer),
                               stream);
        status = gm_finish(backend, stream, status);
    }
    return status;
}

/* What used this memory before, on the default stream, is done. */
static gm_status wait_until_free(const gm_device_array *array)
{
    const gm_backend *backend = array->memory->backend;
    int previous;
    gm_status status = backend->use_device(array->memory->device, &previous);
    if (status == GM_OK) {
        status = backend->wait(NULL);
        gm_leave_device(array->memory, previous);
    }
    return status;
}

/* From then on copies of the pair are direct, where they can be. */
static gm_status connect(const gm_device_array *from, const gm_device_array *to)
{
    const gm_backend *backend = from->memory->backend;
    bool can, before;
    gm_status status = backend->can_reach(from->memory->device, to->memory->device, &can);
    if (status == GM_OK && can) {
        status = backend->let_reach(from->memory->device, to->memory->device, true, &before);
    }
    return status;
}

gm_device_array *gm_device_array_send(gm_device_array *array, int device, gm_stream stream)
{
    const gm_backend *backend = array->memory->backend;
    PyArrayObject *layout = array->layout;
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
    status = connect(array, copy);
    if (status == GM_OK) {
        status = wait_until_free(copy);
    }
    if (status == GM_OK) {
        status = send(array, copy, 1, 1, stream);
    }
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        Py_DECREF(copy);
        gm_raise(status);
        return NULL;
    }
    return copy;
}

/* ---- for measurements ----------------------------------------------------------------------- */

PyObject *gm_core_send(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"source", "target", "count", "pieces", NULL};
    gm_device_array *from, *to;
    long long count, pieces = 1;
    int64_t steps;
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
        return PyErr_Format(PyExc_ValueError,
                            "target has %lld bytes, expected those of source, "
                            "%lld",
                            (long long)PyArray_NBYTES(to->layout),
                            (long long)PyArray_NBYTES(from->layout));
    }
    int overlap = gm_overlaps(from->layout, to->layout);
    if (overlap) {
        return overlap < 0 ? NULL
                           : PyErr_Format(PyExc_ValueError, "source and target share memory");
    }
    if (count < 0 || pieces < 1 || !gm_multiply(count, pieces, &steps)) {
        return PyErr_Format(PyExc_ValueError,
                            "count is %lld and pieces is %lld, expected at least 0 and 1", count,
                            pieces);
    }
    if (gm_enter_device(from->memory, &previous) < 0) {
        return NULL;
    }
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = send(from, to, count, pieces, NULL);
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
