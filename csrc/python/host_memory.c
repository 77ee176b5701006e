/* Functions of the module about host memory and the pools. */
#include "python/host_memory.h"

#include <string.h>

#include "memory/host.h"
#include "python/arrays.h"
#include "python/device_object.h"
#include "python/errors.h"
#include "python/host_array.h"
#include "python/values.h"

/* ---- kinds ---------------------------------------------------------------------------------- */

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
    PyArrayObject *array = gm_host_view(object, "a");
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

/* ---- pools ---------------------------------------------------------------------------------- */

static PyObject *pool_dict(const gm_pool_sizes *sizes)
{
    return Py_BuildValue("{s:L,s:L,s:L}", "reserved", (long long)sizes->reserved_bytes, "used",
                         (long long)sizes->used_bytes, "limit", (long long)sizes->limit_bytes);
}

PyObject *gm_core_pool_info(PyObject *module, PyObject *args, PyObject *keywords)
{
    const gm_backend *backend;
    gm_pool_sizes device, pinned;
    (void)module;
    if (gm_parse_only_backend(args, keywords, "|$O:pool_info", &backend) < 0) {
        return NULL;
    }
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = backend->pool(&device);
    gm_host_pool_sizes(backend, &pinned);
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
    gm_pool_sizes before = {0}, after = {0};
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
    return PyLong_FromLongLong(pinned + (device > 0 ? device : 0));
}
