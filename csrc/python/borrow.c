/* Borrowed memory, and the strides of lent memory. */
#include "python/borrow.h"

#include <stdatomic.h>

#include "python/arrays.h"
#include "python/devices.h"
#include "python/errors.h"
#include "python/spares.h"

/* The bytes of an array: from `below` before its first element to `below + extent` after that. */
typedef struct range {
    int64_t below, extent;
} range;

/* False on overflow. */
static bool find_range(int64_t itemsize, int ndim, const int64_t *shape, const npy_intp *strides,
                       range *bytes)
{
    *bytes = (range){0, itemsize};
    for (int d = 0; d < ndim; d++) {
        int64_t reach;
        if (!gm_multiply(shape[d] - 1, strides[d], &reach) || reach == INT64_MIN ||
            !gm_add(bytes->extent, reach < 0 ? -reach : reach, &bytes->extent)) {
            return false;
        }
        bytes->below += reach < 0 ? -reach : 0; /* less than extent */
    }
    return true;
}

static int check_lengths(const char *name, int ndim, const int64_t *shape)
{
    for (int d = 0; d < ndim; d++) {
        if (shape[d] < 0) {
            PyErr_Format(PyExc_ValueError, "%s has the negative length %lld in dimension %d", name,
                         (long long)shape[d], d);
            return -1;
        }
    }
    return 0;
}

/* Opening takes long once, and may ask Python for libraries. Afterwards the GIL is kept: to give it
 * away for every array would let other threads delay the call. */
static gm_status open_backend(const gm_backend *backend)
{
    static atomic_bool opened[2];
    gm_status status;
    if (atomic_load_explicit(&opened[backend->host_memory], memory_order_acquire)) {
        return backend->open();
    }
    Py_BEGIN_ALLOW_THREADS
    status = backend->open();
    Py_END_ALLOW_THREADS
    if (status == GM_OK) {
        atomic_store_explicit(&opened[backend->host_memory], true, memory_order_release);
    }
    return status;
}

/* Asks anew whose memory it is; takes the reference. */
static gm_device_array *borrow_again(gm_device_array *spare, int device)
{
    gm_device_memory *memory = spare->memory;
    gm_status status = open_backend(memory->backend);
    memory->device = device;
    if (status == GM_OK) {
        status = memory->backend->adopt(memory->address, memory->borrowed, &memory->device);
    }
    if (status != GM_OK) {
        Py_CLEAR(spare);
        gm_raise(status);
    }
    return spare;
}

gm_device_array *gm_borrow(const gm_backend *backend, int device, const char *name,
                           PyArray_Descr *dtype, int ndim, const int64_t *shape,
                           const int64_t *strides, void *data, bool writeable)
{
    static char nowhere[16]; /* NumPy would allocate memory for NULL */
    npy_intp lengths[GM_MAX_DIMS], steps[GM_MAX_DIMS];
    int64_t count;
    range bytes = {0, 0};
    gm_device_array *spare = gm_spare_take(backend, dtype, ndim, shape, strides, data, writeable);
    if (spare) {
        return borrow_again(spare, device);
    }
    if (check_lengths(name, ndim, shape) < 0) {
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
    int64_t step = PyDataType_ELSIZE(dtype);
    for (int d = ndim - 1; d >= 0; d--) {
        steps[d] = (npy_intp)(strides && shape[d] > 1 ? strides[d] : step);
        if (!gm_multiply(step, shape[d] > 0 ? shape[d] : 1, &step)) {
            PyErr_Format(PyExc_ValueError,
                         "%s is too large: its byte count does not fit in 63 bits", name);
            return NULL;
        }
    }
    if (gm_count_bytes(dtype, ndim, lengths, &count) < 0) {
        return NULL;
    }
    if ((count > 0 && !find_range(PyDataType_ELSIZE(dtype), ndim, shape, steps, &bytes)) ||
        bytes.extent > INT64_MAX - (int64_t)((uintptr_t)data & INT64_MAX)) {
        PyErr_Format(PyExc_ValueError, "%s reaches beyond the end of memory", name);
        return NULL;
    }
    if (!data && count > 0) {
        PyErr_Format(PyExc_ValueError, "%s has elements and the null pointer for its data", name);
        return NULL;
    }
    if ((uintptr_t)data < (uintptr_t)bytes.below) {
        PyErr_Format(PyExc_ValueError, "%s reaches beyond the start of memory", name);
        return NULL;
    }
    gm_device_memory *memory;
    gm_status status = open_backend(backend);
    if (status == GM_OK) {
        char *begin = count > 0 ? (char *)data - bytes.below : data;
        status = gm_device_memory_borrow(backend, device, begin, bytes.extent, &memory);
    }
    if (status != GM_OK) {
        gm_raise(status);
        return NULL;
    }
    Py_INCREF(dtype);
    PyObject *layout =
        PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, lengths, steps, count > 0 ? data : nowhere,
                             writeable ? NPY_ARRAY_WRITEABLE : 0, NULL);
    return gm_device_array_wrap(memory, (PyArrayObject *)layout);
}

int gm_borrow_share(const gm_device_array *array, const char *name)
{
    PyArrayObject *layout = array->layout;
    if (!PyArray_ISWRITEABLE(layout)) {
        PyErr_Format(PyExc_BufferError,
                     "%s is read-only, but a gpumem.DeviceArray that shares memory is writeable; "
                     "from_dlpack(..., copy=True) makes a copy",
                     name);
        return -1;
    }
    for (int d = 0; d < PyArray_NDIM(layout); d++) {
        if (PyArray_DIM(layout, d) > 1 && PyArray_STRIDE(layout, d) < 0) {
            PyErr_Format(PyExc_BufferError,
                         "%s has a negative stride in dimension %d, which other libraries would "
                         "refuse; from_dlpack(..., copy=True) makes a copy",
                         name, d);
            return -1;
        }
    }
    return 0;
}

int gm_borrow_follow(gm_device_array *array, gm_stream producer, gm_usage usage, gm_stream stream)
{
    gm_device_memory *memory = array->memory;
    gm_joined joined = {false, NULL};
    int previous;
    memory->producer = producer;
    memory->has_producer = true;
    memory->behind = producer != stream || usage != GM_KEPT;
    memory->one_call = usage != GM_KEPT;
    if (memory->one_call || !memory->behind) {
        return 0;
    }
    if (gm_enter_device(memory, &previous) < 0) {
        return -1;
    }
    gm_status status = gm_device_memory_follow(memory, stream, &joined);
    gm_leave_device(memory, previous);
    if (status != GM_OK) {
        gm_raise(status);
        return -1;
    }
    return 0;
}

int gm_lent_strides(PyArrayObject *layout, npy_intp *strides)
{
    npy_intp itemsize = PyArray_ITEMSIZE(layout);
    for (int d = 0; d < PyArray_NDIM(layout); d++) {
        npy_intp stride = PyArray_STRIDE(layout, d);
        /* The stride of a single element has no meaning. */
        bool counts = PyArray_SIZE(layout) > 0 && PyArray_DIM(layout, d) > 1;
        if (counts && (stride < 0 || (itemsize > 0 && stride % itemsize != 0))) {
            /* PyTorch ends the process if a stride is negative. */
            PyErr_Format(
                PyExc_BufferError,
                "dimension %d has strides of %zd bytes; other libraries take only positive "
                "multiples of the element size (gpumem.copy(d) makes a contiguous array)",
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
