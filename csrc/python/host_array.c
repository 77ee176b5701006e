/* gpumem.empty, memory_kind and the pools: host memory as ndarrays. */
#include <string.h>

#include "memory/memory.h"
#include "memory/transfer.h"
#include "python/python.h"

/* ---- a block, freed with the last array over it --------------------------------------------- */

typedef struct gm_host_block {
    PyObject_HEAD void *address;
} gm_host_block;

static void block_dealloc(PyObject *self)
{
    void *address = ((gm_host_block *)self)->address;
    if (address) {
        /* Giving memory back may wait for the device. */
        Py_BEGIN_ALLOW_THREADS
        gm_host_release(address);
        Py_END_ALLOW_THREADS
    }
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject gm_host_block_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpumem._HostMemory",
    .tp_basicsize = sizeof(gm_host_block),
    .tp_dealloc = block_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

PyArrayObject *gm_host_array_new(const gm_backend *backend, gm_memory_kind kind,
                                 PyArray_Descr *dtype, int ndim, const npy_intp *shape)
{
    int64_t bytes;
    if (gm_check_sized(dtype, "the array") < 0 || gm_count_bytes(dtype, ndim, shape, &bytes) < 0) {
        return NULL;
    }
    if (kind == GM_PAGEABLE) {
        Py_INCREF(dtype);
        return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL, NULL,
                                                     0, NULL);
    }
    gm_host_block *block = PyObject_New(gm_host_block, &gm_host_block_type);
    if (!block) {
        return NULL;
    }
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = gm_host_allocate(backend, kind, bytes, &block->address);
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        Py_DECREF(block);
        gm_raise(status);
        return NULL;
    }
    Py_INCREF(dtype);
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL, block->address,
                                           NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED, NULL);
    if (!array) {
        Py_DECREF(block);
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)array, (PyObject *)block) < 0) { /* steals */
        Py_DECREF(array);
        return NULL;
    }
    return (PyArrayObject *)array;
}

enum { LEAST_PINNED = 64 * 1024 }; /* bytes: for less, NumPy's own allocator is faster */

PyArrayObject *gm_host_result_new(const gm_backend *backend, PyArray_Descr *dtype, int ndim,
                                  const npy_intp *shape)
{
    int64_t bytes;
    if (gm_count_bytes(dtype, ndim, shape, &bytes) < 0) {
        return NULL;
    }
    if (backend->asynchronous && bytes >= LEAST_PINNED) {
        PyArrayObject *array = gm_host_array_new(backend, GM_PINNED, dtype, ndim, shape);
        if (array || !PyErr_ExceptionMatches(PyExc_MemoryError)) {
            return array;
        }
        PyErr_Clear(); /* there may be enough that is not page-locked */
    }
    return gm_host_array_new(backend, GM_PAGEABLE, dtype, ndim, shape);
}

/* ---- kinds ---------------------------------------------------------------------------------- */

gm_memory_kind gm_find_kind(PyArrayObject *array, const gm_backend *backend)
{
    const gm_backend *owner;
    gm_memory_kind kind = gm_host_kind(PyArray_DATA(array), &owner);
    if (!owner) {
        return PyArray_SIZE(array) > 0 ? backend->host_kind(PyArray_DATA(array)) : GM_PAGEABLE;
    }
    return owner == backend ? kind : GM_PAGEABLE; /* to another backend it is plain memory */
}

static int parse_kind(PyObject *object, gm_memory_kind *kind)
{
    *kind = GM_PAGEABLE;
    if (!object) {
        return 0;
    }
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "kind must be a str, not %.100s", Py_TYPE(object)->tp_name);
        return -1;
    }
    const char *name = gm_c_string(object, "kind");
    if (!name) {
        return -1;
    }
    for (int i = 0; i < GM_MEMORY_KINDS; i++) {
        if (strcmp(name, gm_memory_kind_names[i]) == 0) {
            *kind = (gm_memory_kind)i;
            return 0;
        }
    }
    PyObject *known = PyList_New(0);
    for (int i = 0; known && i < GM_MEMORY_KINDS; i++) {
        gm_append_name(&known, gm_memory_kind_names[i]);
    }
    gm_raise_unknown("kind is", object, known, ", expected one of");
    return -1;
}

PyObject *gm_core_empty(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"shape", "dtype", "kind", "backend", NULL};
    PyObject *shape_object, *kind_name = NULL, *backend_name = NULL, *made = NULL;
    PyArray_Descr *dtype = NULL;
    PyArray_Dims shape = {NULL, 0};
    const gm_backend *backend;
    gm_memory_kind kind;
    (void)module;

    if (PyArg_ParseTupleAndKeywords(args, keywords, "O|O&$OO:empty", names, &shape_object,
                                    gm_dtype_converter, &dtype, &kind_name, &backend_name) &&
        gm_parse_shape(shape_object, &shape) == 0) {
        if (!dtype) {
            dtype = PyArray_DescrFromType(NPY_FLOAT32);
        }
        if (gm_check_dtype(dtype, "dtype") == 0 && parse_kind(kind_name, &kind) == 0 &&
            gm_parse_backend(backend_name, &backend) == 0) {
            made = (PyObject *)gm_host_array_new(backend, kind, dtype, shape.len, shape.ptr);
        }
    }
    PyDimMem_FREE(shape.ptr);
    Py_XDECREF(dtype);
    return made;
}

PyObject *gm_core_memory_kind(PyObject *module, PyObject *object)
{
    const gm_backend *owner = NULL, *backend;
    (void)module;
    if (gm_is_device_array(object)) {
        return PyUnicode_FromString(gm_memory_kind_names[GM_DEVICE]);
    }
    PyArrayObject *array = gm_host_array(object, "a");
    if (!array) {
        return NULL;
    }
    gm_memory_kind kind = gm_host_kind(PyArray_DATA(array), &owner);
    if (!owner && PyArray_SIZE(array) > 0 && gm_backend_get(NULL, &backend) == GM_OK) {
        kind = backend->host_kind(PyArray_DATA(array));
    }
    Py_DECREF(array);
    return PyUnicode_FromString(gm_memory_kind_names[kind]);
}

/* ---- for measurements ------------------------------------------------------------------------ */

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
        PyArray_FailUnlessWriteable(array, "a") < 0) { /* a DeviceArray can be written */
        return NULL;
    }
    if (gm_find_kind(array, backend) == GM_PAGEABLE) {
        return PyErr_Format(PyExc_ValueError,
                            "a lies in memory that backend \"%s\" cannot reach, expected an array "
                            "of gpumem.empty(kind=...) on it, of any kind but 'pageable'",
                            backend->name);
    }
    return (PyObject *)gm_device_array_over(backend, array);
}

typedef struct transfer {
    gm_direction direction;
    long long pieces;
    bool driver; /* its own way with memory that is pageable */
    gm_memory_kind kind;
    gm_stream stream;
} transfer;

/* All bytes once, in pieces that differ by one byte at most. */
static gm_status transfer_once(const gm_backend *backend, const transfer *t, char *to,
                               const char *from, int64_t bytes)
{
    int64_t least = bytes / t->pieces, longer = bytes % t->pieces;
    for (int64_t i = 0; i < t->pieces; i++) {
        int64_t count = least + (i < longer);
        gm_status status;
        if (t->driver) {
            status = backend->copy(to, from, count, t->direction, t->stream);
            if (status == GM_OK) {
                status = backend->wait(t->stream);
            }
        } else {
            status = gm_transfer(backend, to, from, count, t->kind, t->direction, t->stream);
        }
        if (status != GM_OK) {
            return status;
        }
        to += count;
        from += count;
    }
    return GM_OK;
}

/* Both whole, of as many bytes, the target writable and not the source; 0 or -1. */
static int check_transfer(gm_device_array *device, PyArrayObject *host, bool to_device)
{
    if (!PyArray_IS_C_CONTIGUOUS(device->layout) || !PyArray_IS_C_CONTIGUOUS(host)) {
        PyErr_Format(PyExc_ValueError, "%s is not C-contiguous",
                     PyArray_IS_C_CONTIGUOUS(host) ? "device" : "host");
        return -1;
    }
    if (PyArray_NBYTES(device->layout) != PyArray_NBYTES(host)) {
        PyErr_Format(PyExc_ValueError, "host has %lld bytes, expected those of device, %lld",
                     (long long)PyArray_NBYTES(host), (long long)PyArray_NBYTES(device->layout));
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

PyObject *gm_core_transfer(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"device", "host",   "to_device", "count",
                            "driver", "pieces", "stream",    NULL};
    gm_device_array *device;
    PyArrayObject *host;
    PyObject *stream_object = NULL;
    transfer t = {.pieces = 1};
    long long count;
    int to_device, driver;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!pLp|LO:transfer", names,
                                     &gm_device_array_type, &device, &PyArray_Type, &host,
                                     &to_device, &count, &driver, &t.pieces, &stream_object)) {
        return NULL;
    }
    const gm_backend *backend = device->memory->backend;
    if (gm_parse_stream(stream_object, backend, &t.stream) < 0 ||
        gm_check_dtype(PyArray_DESCR(host), "host") < 0 ||
        check_transfer(device, host, to_device) < 0) {
        return NULL;
    }
    if (count < 0) {
        return PyErr_Format(PyExc_ValueError, "count is %lld, expected at least 0", count);
    }
    if (t.pieces < 1) {
        return PyErr_Format(PyExc_ValueError, "pieces is %lld, expected at least 1", t.pieces);
    }
    t.direction = to_device ? GM_TO_DEVICE : GM_TO_HOST;
    t.driver = driver;
    t.kind = gm_find_kind(host, backend);
    char *here = PyArray_DATA(host), *there = PyArray_DATA(device->layout);
    int64_t bytes = PyArray_NBYTES(host);
    gm_status status = GM_OK;
    Py_BEGIN_ALLOW_THREADS
    for (long long i = 0; status == GM_OK && i < count; i++) {
        status =
            transfer_once(backend, &t, to_device ? there : here, to_device ? here : there, bytes);
    }
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        return gm_raise(status);
    }
    Py_RETURN_NONE;
}

/* ---- pools ---------------------------------------------------------------------------------- */

static PyObject *pool_dict(const gm_pool_figures *figures)
{
    return Py_BuildValue("{s:L,s:L,s:L}", "reserved", (long long)figures->reserved_bytes, "used",
                         (long long)figures->used_bytes, "limit", (long long)figures->limit_bytes);
}

PyObject *gm_core_pool_info(PyObject *module, PyObject *args, PyObject *keywords)
{
    const gm_backend *backend;
    gm_pool_figures device, pinned;
    (void)module;
    if (gm_parse_only_backend(args, keywords, "|$O:pool_info", &backend) < 0) {
        return NULL;
    }
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = backend->pool(&device);
    gm_host_pool_figures(backend, &pinned);
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        return gm_raise(status);
    }
    PyObject *of_device = pool_dict(&device), *of_host = pool_dict(&pinned), *both = NULL;
    if (of_device && of_host) {
        both = Py_BuildValue("{s:s,s:O,s:O}", "backend", backend->name, "device", of_device,
                             "pinned", of_host);
    }
    Py_XDECREF(of_device);
    Py_XDECREF(of_host);
    return both;
}

PyObject *gm_core_pool_trim(PyObject *module, PyObject *args, PyObject *keywords)
{
    const gm_backend *backend;
    gm_pool_figures before = {0}, after = {0};
    int64_t pinned = 0;
    (void)module;
    if (gm_parse_only_backend(args, keywords, "|$O:pool_trim", &backend) < 0) {
        return NULL;
    }
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = backend->pool(&before);
    if (status == GM_OK) {
        status = backend->pool_trim();
    }
    if (status == GM_OK) {
        status = backend->pool(&after);
    }
    if (status == GM_OK) {
        pinned = gm_host_pool_trim(backend);
    }
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        return gm_raise(status);
    }
    int64_t device = before.reserved_bytes - after.reserved_bytes;
    return PyLong_FromLongLong((long long)(pinned + (device > 0 ? device : 0)));
}
