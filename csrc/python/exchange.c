/* Arrays of other libraries, used where they are: gpumem.from_dlpack, and what calls are given. */
#include "python/dlpack_device.h"
#include "python/dlpack_import.h"
#include "python/python.h"

/* One past the last byte that the elements reach, from the first; -1 when it does not fit. */
static int64_t find_extent(int64_t itemsize, int ndim, const int64_t *shape, const int64_t *strides)
{
    int64_t extent = itemsize, reach;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] == 0) {
            return 0;
        }
    }
    for (int d = 0; d < ndim; d++) {
        if (!gm_multiply(shape[d] - 1, strides[d], &reach) || !gm_add(extent, reach, &extent)) {
            return -1;
        }
    }
    return extent;
}

static int check_layout(const char *name, int ndim, const int64_t *shape, const int64_t *strides)
{
    for (int d = 0; d < ndim; d++) {
        if (shape[d] < 0) {
            PyErr_Format(PyExc_ValueError, "%s has the negative length %lld in dimension %d", name,
                         (long long)shape[d], d);
            return -1;
        }
        if (strides && strides[d] < 0 && shape[d] > 1) {
            PyErr_Format(PyExc_ValueError,
                         "%s has a negative stride in dimension %d; accepted are arrays whose "
                         "elements run on (a copy does)",
                         name, d);
            return -1;
        }
    }
    return 0;
}

gm_device_array *gm_borrow(const gm_backend *backend, const char *name, PyArray_Descr *dtype,
                           int ndim, const int64_t *shape, const int64_t *strides, void *data,
                           bool writable)
{
    static char nowhere[16]; /* NumPy would allocate for NULL */
    npy_intp lengths[GM_MAX_DIMS] = {0}, steps[GM_MAX_DIMS];
    int64_t bytes, extent;
    if (check_layout(name, ndim, shape, strides) < 0) {
        return NULL;
    }
    if (PyDataType_ELSIZE(dtype) == 0) {
        PyErr_Format(PyExc_TypeError, "%s has dtype %.200R, whose elements have no bytes", name,
                     dtype);
        return NULL;
    }
    for (int d = 0; d < ndim; d++) {
        lengths[d] = (npy_intp)shape[d];
    }
    if (gm_count_bytes(dtype, ndim, lengths, &bytes) < 0) {
        return NULL;
    }
    int64_t step = PyDataType_ELSIZE(dtype);
    for (int d = ndim - 1; d >= 0; d--) {
        steps[d] = (npy_intp)(strides && shape[d] > 1 ? strides[d] : step);
        if (!gm_multiply(step, shape[d] > 0 ? shape[d] : 1, &step)) {
            PyErr_Format(PyExc_ValueError, "%s is too large", name);
            return NULL;
        }
    }
    extent = bytes > 0 ? find_extent(PyDataType_ELSIZE(dtype), ndim, shape, steps) : 0;
    if (extent < 0 || extent > INT64_MAX - (int64_t)((uintptr_t)data & INT64_MAX)) {
        PyErr_Format(PyExc_ValueError, "%s reaches beyond the end of memory", name);
        return NULL;
    }
    if (!data && extent > 0) {
        PyErr_Format(PyExc_ValueError, "%s has elements and the null pointer for its data", name);
        return NULL;
    }
    gm_device_memory *memory;
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = backend->open();
    if (status == GM_OK) {
        status = gm_device_memory_borrow(backend, data, extent, &memory);
    }
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        gm_raise(status);
        return NULL;
    }
    Py_INCREF(dtype);
    PyObject *layout =
        PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, lengths, steps,
                             extent > 0 ? data : nowhere, writable ? NPY_ARRAY_WRITEABLE : 0, NULL);
    return gm_device_array_wrap(memory, (PyArrayObject *)layout);
}

int gm_lent_strides(PyArrayObject *layout, npy_intp *strides)
{
    npy_intp itemsize = PyArray_ITEMSIZE(layout);
    for (int d = 0; d < PyArray_NDIM(layout); d++) {
        npy_intp stride = PyArray_STRIDE(layout, d);
        /* Of no meaning where there is one element at most: then it is harmless, too. */
        bool counts = PyArray_SIZE(layout) > 0 && PyArray_DIM(layout, d) > 1;
        if (counts && (stride < 0 || (itemsize > 0 && stride % itemsize != 0))) {
            /* PyTorch ends the process over a negative one. */
            PyErr_Format(PyExc_BufferError,
                         "dimension %d has strides of %zd bytes; other libraries take only "
                         "positive ones, of whole elements (gpumem.copy(d) makes a contiguous "
                         "array)",
                         d, stride);
            return -1;
        }
        strides[d] = counts ? stride : itemsize;
    }
    return 0;
}

void gm_run_aside(void (*function)(void *), void *argument)
{
    PyObject *type, *value, *traceback;
    if (!Py_IsInitialized() || !PyGILState_Check()) {
        function(argument);
        return;
    }
    PyErr_Fetch(&type, &value, &traceback);
    function(argument);
    PyErr_Restore(type, value, traceback);
}

/* ---- who has what -----------------------------------------------------------------------------
 */

bool gm_is_adoptable(PyObject *object)
{
    return object != Py_None && !gm_is_device_array(object) && !PyArray_Check(object) &&
           !PyBytes_Check(object) && !PyType_Check(object);
}

/* Asked while an exception is set. */
static bool has_dlpack(PyObject *object)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    bool has = PyObject_HasAttrString((PyObject *)Py_TYPE(object), "__dlpack__");
    PyErr_Restore(type, value, traceback);
    return has;
}

/* Over __cuda_array_interface__ where it tells the producer's stream, so that this too can wait for
 * what is done here; else over DLPack, whose producer makes our stream wait. */
static gm_device_array *adopt(PyObject *object, const char *name, const gm_backend *backend,
                              PyObject *stream_object)
{
    PyObject *interface;
    gm_device_array *array = NULL;
    gm_stream stream = NULL;
    int type = 0, device = 0, previous, found = 0;
    if (gm_optional_attribute(object, "__cuda_array_interface__", &interface) < 0) {
        /* PyTorch's fails for dtypes that it has no typestr for; DLPack says what it is. */
        if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError) ||
            !has_dlpack(object)) {
            return NULL;
        }
        PyErr_Clear();
    }
    if (!interface || !gm_interface_has_stream(interface)) {
        found = gm_dlpack_find(object, &type, &device);
    }
    if (found > 0 && gm_dlpack_backend(type) == backend) {
        if (backend->use_device(backend->host_memory ? 0 : device, &previous) != GM_OK) {
            gm_raise(gm_last_error()->status);
        } else {
            if (gm_parse_stream(stream_object, backend, &stream) == 0) {
                array = gm_dlpack_adopt(object, backend, name, stream);
            }
            if (previous != device) {
                backend->use_device(previous, &previous);
            }
        }
    } else if (found >= 0 && interface) {
        /* What is wrong with it is told on machines without a GPU, too. */
        const gm_backend *cuda = gm_backend_with_memory(false);
        if (cuda->open() != GM_OK || gm_parse_stream(stream_object, cuda, &stream) == 0) {
            array = gm_interface_adopt(interface, object, name, stream);
        }
    }
    Py_XDECREF(interface);
    return array;
}

gm_device_array *gm_adopt(PyObject *object, const char *name, PyObject *stream)
{
    return gm_is_adoptable(object) ? adopt(object, name, gm_backend_with_memory(false), stream)
                                   : NULL;
}

/* ---- gpumem.from_dlpack -----------------------------------------------------------------------
 */

/* The backend of a producer that is on the host, or on a kind of device that is not taken. */
static int choose_backend(PyObject *object, const gm_backend **backend)
{
    int type, device;
    *backend = gm_backend_with_memory(false);
    int found = gm_dlpack_find(object, &type, &device);
    if (found <= 0 || gm_dlpack_backend(type) == *backend) {
        return found < 0 ? -1 : 0;
    }
    if (!gm_dlpack_backend(type)) {
        PyErr_Format(PyExc_ValueError,
                     "x is in %s memory; accepted are CUDA devices (and the host, on backend "
                     "\"sim\")",
                     gm_dlpack_name(type));
        return -1;
    }
    if (gm_parse_backend(Py_None, backend) < 0) {
        return -1;
    }
    if (!(*backend)->host_memory) {
        PyErr_Format(
            PyExc_ValueError,
            "x is in %s memory: give it to the functions as it is, or use to_device, which "
            "copies it",
            gm_dlpack_name(type));
        return -1;
    }
    return 0;
}

static int check_wishes(gm_device_array *array, PyObject *device, bool copy)
{
    int asked;
    if (gm_parse_device(device, &asked) < 0) {
        return -1;
    }
    if (asked >= 0 && asked != array->memory->device) {
        PyErr_Format(PyExc_ValueError, "device is %d, x is on device %d", asked,
                     array->memory->device);
        return -1;
    }
    if (!copy && !PyArray_ISWRITEABLE(array->layout)) {
        PyErr_SetString(PyExc_ValueError, "x is read-only, and a gpumem.DeviceArray can be written "
                                          "to; copy=True makes one of its own");
        return -1;
    }
    return 0;
}

PyObject *gm_from_dlpack(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "device", "copy", NULL};
    PyObject *object, *device = Py_None, *copy = Py_None;
    const gm_backend *backend;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$OO:from_dlpack", names, &object, &device,
                                     &copy)) {
        return NULL;
    }
    if (copy != Py_None && !PyBool_Check(copy)) {
        return PyErr_Format(PyExc_TypeError, "copy must be a bool or None, not %.100s",
                            Py_TYPE(copy)->tp_name);
    }
    if (gm_check_unmasked(object, "x") < 0 || choose_backend(object, &backend) < 0) {
        return NULL;
    }
    gm_device_array *array = adopt(object, "x", backend, Py_None);
    if (!array) {
        return PyErr_Occurred()
                   ? NULL
                   : PyErr_Format(PyExc_TypeError,
                                  "x must have __dlpack__ or __cuda_array_interface__, "
                                  "%.100s has not",
                                  Py_TYPE(object)->tp_name);
    }
    array->memory->has_producer = false; /* its stream may be gone when this is used */
    if (check_wishes(array, device, copy == Py_True) < 0) {
        Py_CLEAR(array);
    } else if (copy == Py_True) {
        Py_SETREF(array, gm_device_array_copy(array, NULL, false));
    }
    return (PyObject *)array;
}
