/* Host arrays, and the memory blocks under those that gpumem allocates. */
#include "python/host_array.h"

#include "memory/host.h"
#include "python/arrays.h"
#include "python/dlpack_device.h"
#include "python/dlpack_exchange.h"
#include "python/dlpack_import.h"
#include "python/errors.h"
#include "python/values.h"

/* ---- blocks: freed with the last array over them ------------------------------------------ */

typedef struct host_block {
    PyObject_HEAD void *address;
} host_block;

static void block_dealloc(PyObject *self)
{
    void *address = ((host_block *)self)->address;
    if (address) {
        /* Giving memory back may wait for the device. */
        Py_BEGIN_ALLOW_THREADS
        gm_host_release(address);
        Py_END_ALLOW_THREADS
    }
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject host_block_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpumem._HostMemory",
    .tp_basicsize = sizeof(host_block),
    .tp_dealloc = block_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

/* ---- arrays of other libraries -------------------------------------------------------------- */

int gm_host_arrays_init(void)
{
    return PyType_Ready(&host_block_type);
}

static bool is_on_host(int type)
{
    const gm_backend *usable = gm_dlpack_backend(type);
    return usable && usable->host_memory;
}

/* Not by numpy.from_dlpack: it reads no bfloat16, names no argument, and follows a null pointer to
 * the shape. */
static PyArrayObject *from_capsule(PyObject *object, const char *name)
{
    gm_device_array *array = gm_dlpack_adopt(object, gm_backend_with_memory(true), name, NULL);
    if (!array) {
        return NULL;
    }
    PyArrayObject *layout = array->layout;
    Py_INCREF(PyArray_DESCR(layout));
    PyObject *view =
        PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(layout), PyArray_NDIM(layout),
                             PyArray_DIMS(layout), PyArray_STRIDES(layout), PyArray_DATA(layout),
                             PyArray_FLAGS(layout) & NPY_ARRAY_WRITEABLE, NULL);
    if (!view) {
        Py_DECREF((PyObject *)array);
    } else if (PyArray_SetBaseObject((PyArrayObject *)view, (PyObject *)array) < 0) { /* steals */
        Py_CLEAR(view);
    }
    return (PyArrayObject *)view;
}

/* Of a library whose arrays have no buffer protocol; NULL without an exception if it is none. */
static PyArrayObject *from_producer(PyObject *object, const char *name)
{
    gm_exchanged read;
    int type, device, found = gm_exchange_read(object, name, GM_READ, &read);
    if (found > 0) {
        type = read.tensor.device.device_type;
        if (is_on_host(type)) {
            return gm_exchange_view(&read, object, name);
        }
        gm_exchange_release(&read);
    } else if (found == 0) {
        found = gm_dlpack_find(object, name, &type, &device);
    }
    if (found < 0) {
        return NULL;
    }
    if (found > 0 && is_on_host(type)) {
        return from_capsule(object, name);
    }
    int elsewhere = found > 0 ? 1 : gm_has_attribute(object, "__cuda_array_interface__");
    if (elsewhere > 0) {
        PyErr_Format(PyExc_TypeError,
                     "%s is %.100s in %s memory, here an array on the host is expected (inputs are "
                     "either all on the host or all on the device)",
                     name, Py_TYPE(object)->tp_name, found > 0 ? gm_dlpack_name(type) : "CUDA");
    }
    return NULL;
}

/* ---- what has to be converted: lists, numbers, objects with __array__ ----------------------- */

static const char ACCEPTED[] = "array-like (what numpy.asarray takes) or a gpumem.DeviceArray";

/* NumPy's message does not say which argument it is about. */
static void name_argument(PyObject *object, const char *name)
{
    PyObject *type, *value, *traceback;
    bool of_value = PyErr_ExceptionMatches(PyExc_ValueError);
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
        of_value = true; /* a number of an __array_interface__ */
    } else if (!of_value && !PyErr_ExceptionMatches(PyExc_TypeError)) {
        return;
    }
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    gm_raise_about(of_value ? PyExc_ValueError : PyExc_TypeError,
                   "%s must be %s, and numpy.asarray does not take this %.100s: %S", name, ACCEPTED,
                   Py_TYPE(object)->tp_name, value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

/* By __array__ where there is one: that view is writeable if the array is. */
static PyObject *view_by_protocol(PyObject *object, const char *name)
{
    int converts = gm_has_attribute(object, "__array__");
    if (converts <= 0) {
        return converts < 0 ? NULL : (PyObject *)from_capsule(object, name);
    }
    PyObject *view = PyArray_FromAny(object, NULL, 0, 0, 0, NULL);
    if (!view) {
        name_argument(object, name);
    }
    return view;
}

PyObject *gm_core_view_host(PyObject *module, PyObject *args)
{
    PyObject *object;
    const char *name;
    gm_exchanged read;
    (void)module;
    if (!PyArg_ParseTuple(args, "Os:view_host", &object, &name)) {
        return NULL;
    }
    int type, device, found = gm_exchange_read(object, name, GM_WRITTEN, &read);
    if (found > 0 && is_on_host(read.tensor.device.device_type)) {
        return (PyObject *)gm_exchange_view(&read, object, name);
    }
    if (found > 0) {
        gm_exchange_release(&read);
    } else if (found == 0) {
        found = gm_dlpack_find(object, name, &type, &device);
        if (found > 0 && is_on_host(type)) {
            return view_by_protocol(object, name);
        }
    }
    return found < 0 ? NULL : Py_NewRef(Py_None);
}

/* Masked arrays in lists, too: numpy.asarray would drop the masks. Only of what it has taken, which
 * is why there is an end to the lists in lists. */
static int check_unmasked_within(PyObject *object, const char *name)
{
    if (!PyList_Check(object) && !PyTuple_Check(object)) {
        return gm_check_unmasked(object, name);
    }
    for (Py_ssize_t i = 0; i < PySequence_Size(object); i++) {
        PyObject *item = PySequence_GetItem(object, i);
        int failed = item ? check_unmasked_within(item, name) : -1;
        Py_XDECREF(item);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

PyObject *gm_core_check_unmasked(PyObject *module, PyObject *args)
{
    PyObject *object;
    const char *name;
    (void)module;
    if (!PyArg_ParseTuple(args, "Os:check_unmasked", &object, &name) ||
        check_unmasked_within(object, name) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyArrayObject *convert(PyObject *object, const char *name)
{
    PyObject *array = PyArray_FromAny(object, NULL, 0, 0, 0, NULL);
    if (!array) {
        name_argument(object, name);
        return NULL;
    }
    if (PyArray_TYPE((PyArrayObject *)array) == NPY_OBJECT) {
        PyErr_Format(PyExc_TypeError,
                     "%s must be %s; of this %.100s numpy.asarray makes an array of Python objects",
                     name, ACCEPTED, Py_TYPE(object)->tp_name);
        Py_CLEAR(array);
    } else if (gm_check_unmasked(array, name) < 0 || check_unmasked_within(object, name) < 0) {
        Py_CLEAR(array);
    } else {
        Py_SETREF(array, PyArray_FromAny(array, NULL, 0, 0, NPY_ARRAY_ENSUREARRAY, NULL));
    }
    return (PyArrayObject *)array;
}

/* ---- taking --------------------------------------------------------------------------------- */

/* Whether the exception says that the object is no array, and not that something else failed. */
static bool is_refusal(void)
{
    return PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
           PyErr_ExceptionMatches(PyExc_BufferError);
}

/* The object's own memory; NULL without an exception if it has to be converted. */
static PyArrayObject *own_memory(PyObject *object, const char *name)
{
    if (gm_check_unmasked(object, name) < 0) {
        return NULL;
    }
    if (PyArray_Check(object)) {
        return (PyArrayObject *)PyArray_FromAny(object, NULL, 0, 0, NPY_ARRAY_ENSUREARRAY, NULL);
    }
    if (PyArray_CheckScalar(object) || PyObject_CheckBuffer(object)) {
        PyObject *array = PyArray_FromAny(object, NULL, 0, 0, 0, NULL);
        if (array || !is_refusal()) {
            return (PyArrayObject *)array;
        }
        PyErr_Clear(); /* a buffer that is refused, as CuPy's of device memory */
    }
    return from_producer(object, name);
}

static PyArrayObject *checked(PyArrayObject *array, const char *name)
{
    if (array && gm_check_dtype(PyArray_DESCR(array), name) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

PyArrayObject *gm_host_view(PyObject *object, const char *name)
{
    PyArrayObject *array = own_memory(object, name);
    if (!array && !PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError,
                     "%s must be a NumPy array, an object with the buffer protocol or DLPack, "
                     "another library's CUDA array or a gpumem.DeviceArray, not %.100s",
                     name, Py_TYPE(object)->tp_name);
    }
    return checked(array, name);
}

PyArrayObject *gm_host_array(PyObject *object, const char *name)
{
    PyArrayObject *array = own_memory(object, name);
    if (!array && !PyErr_Occurred()) {
        array = convert(object, name);
    }
    return checked(array, name);
}

/* ---- making --------------------------------------------------------------------------------- */

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
    host_block *block = PyObject_New(host_block, &host_block_type);
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
        PyErr_Clear(); /* pageable memory may suffice */
    }
    return gm_host_array_new(backend, GM_PAGEABLE, dtype, ndim, shape);
}

gm_memory_kind gm_find_kind(PyArrayObject *array, const gm_backend *backend)
{
    const gm_backend *owner;
    gm_memory_kind kind = gm_host_kind(PyArray_DATA(array), &owner);
    if (!owner) {
        return PyArray_SIZE(array) > 0 ? backend->host_kind(PyArray_DATA(array)) : GM_PAGEABLE;
    }
    return owner == backend ? kind : GM_PAGEABLE; /* for another backend it is ordinary memory */
}
