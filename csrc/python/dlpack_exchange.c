/*
 * Reads other libraries' arrays by DLPack's C exchange API: a table of functions that the arrays'
 * type has. It takes far less time than calls of __dlpack_device__ and __dlpack__.
 *
 * PyTorch's functions do not check what its __dlpack__ checks: whether a tensor requires a
 * gradient, or has the conjugate bit set. Such tensors are left to __dlpack__, which refuses them.
 * Neither of them looks at the negative bit.
 */
#include "python/dlpack_exchange.h"

#include "python/dlpack_device.h"
#include "python/dlpack_import.h"
#include "python/errors.h"

void gm_exchange_release(gm_exchanged *read)
{
    if (read->managed) {
        gm_dlpack_give_back(read->managed);
        read->managed = NULL;
    }
}

static int read_managed(PyObject *object, const char *name, gm_exchanged *read)
{
    DLManagedTensorVersioned *managed = NULL;
    if (read->exchange->managed_tensor_from_py_object_no_sync(object, &managed) != 0 || !managed) {
        return -1;
    }
    read->managed = managed;
    if (gm_dlpack_check_version(managed, name) < 0) {
        return -1;
    }
    read->tensor = managed->dl_tensor;
    read->writeable = !(managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
    return 0;
}

/* A tensor that nobody manages says nothing of writing. */
static int read_tensor(PyObject *object, const char *name, gm_exchanged *read)
{
    if (read->usage != GM_READ || !read->exchange->dltensor_from_py_object_no_sync) {
        return read_managed(object, name, read);
    }
    read->writeable = false;
    return read->exchange->dltensor_from_py_object_no_sync(object, &read->tensor) == 0 ? 0 : -1;
}

/* After a failure: 0 if __dlpack__ may say it better, -1 with the exception if not. */
static int forgive(PyObject *object, const char *name)
{
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_SystemError, "%s: the exchange API of %.100s failed without an error",
                     name, Py_TYPE(object)->tp_name);
    }
    return gm_dlpack_instead(object) ? 0 : -1;
}

int gm_exchange_read(PyObject *object, const char *name, gm_usage usage, gm_exchanged *read)
{
    gm_producer producer;
    if (gm_find_producer(Py_TYPE(object), &producer) < 0) {
        return -1;
    }
    int negated = producer.lazy ? gm_is_negated(&producer, object) : 0;
    if (negated > 0) {
        PyErr_Format(PyExc_ValueError,
                     "%s has PyTorch's negative bit set: its memory holds the opposite signs; "
                     "resolve_neg() makes a tensor without it",
                     name);
    }
    int other_way = negated ? -1 : !producer.exchange;
    if (!other_way && producer.lazy) {
        other_way = gm_requires_grad(&producer, object);
    }
    if (other_way) {
        return other_way < 0 ? -1 : 0;
    }
    *read = (gm_exchanged){.exchange = producer.exchange, .usage = usage};
    int found = read_tensor(object, name, read) < 0 ? forgive(object, name) : 1;
    if (found > 0 && producer.lazy && read->tensor.dtype.code == kDLComplex) {
        int conjugated = gm_is_conjugated(object);
        found = conjugated < 0 ? -1 : !conjugated;
    }
    if (found <= 0) {
        gm_exchange_release(read);
    }
    return found;
}

/* 0, or -1 with an exception. */
static int find_stream(const gm_exchanged *read, gm_current_stream *current)
{
    const DLDevice device = read->tensor.device;
    if (current->exchange == read->exchange && current->device.device_id == device.device_id &&
        current->device.device_type == device.device_type) {
        return 0;
    }
    void *stream = NULL;
    if (read->exchange->current_work_stream(device.device_type, device.device_id, &stream) != 0) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_SystemError, "current_work_stream failed without an error");
        }
        return -1;
    }
    *current = (gm_current_stream){read->exchange, device, stream};
    return 0;
}

gm_device_array *gm_exchange_adopt(gm_exchanged *read, const gm_backend *backend, const char *name,
                                   gm_stream stream, gm_current_stream *current)
{
    const DLDevice at = read->tensor.device;
    /* For a call, it is believed as its shape and strides are. */
    const bool believed = read->usage != GM_KEPT && at.device_type == kDLCUDA;
    gm_device_array *array = gm_dlpack_describe(&read->tensor, believed ? at.device_id : -1,
                                                read->writeable, backend, name);
    if (!array) {
        gm_exchange_release(read);
        return NULL;
    }
    if (read->managed) {
        gm_dlpack_own(array, read->managed);
        read->managed = NULL;
    }
    /* Host memory has no streams. */
    if (!backend->host_memory &&
        (find_stream(read, current) < 0 ||
         gm_borrow_follow(array, current->stream, read->usage, stream) < 0)) {
        Py_CLEAR(array);
    }
    return array;
}

static void capsule_dealloc(PyObject *capsule)
{
    gm_dlpack_give_back(PyCapsule_GetPointer(capsule, NULL));
}

/* What keeps the memory; a new reference, which takes what was read. */
static PyObject *keep(gm_exchanged *read, PyObject *object)
{
    PyObject *owner =
        read->managed ? PyCapsule_New(read->managed, NULL, capsule_dealloc) : Py_NewRef(object);
    if (owner) {
        read->managed = NULL;
    }
    return owner;
}

static PyArrayObject *view_on_host(const gm_exchanged *read, const char *name)
{
    const DLTensor *tensor = &read->tensor;
    int64_t strides[GM_MAX_DIMS];
    npy_intp shape[GM_MAX_DIMS], steps[GM_MAX_DIMS], count = 1;
    PyArray_Descr *dtype = gm_dlpack_layout(tensor, name, strides);
    if (!dtype) {
        return NULL;
    }
    for (int d = 0; d < tensor->ndim; d++) {
        shape[d] = (npy_intp)tensor->shape[d];
        steps[d] = tensor->strides ? (npy_intp)strides[d] : 0;
        count = shape[d] == 0 ? 0 : count;
    }
    char *data = tensor->data ? (char *)tensor->data + tensor->byte_offset : NULL;
    if (!data && count > 0) { /* NumPy would allocate memory */
        PyErr_Format(PyExc_ValueError, "%s has elements and the null pointer for its data", name);
        Py_DECREF(dtype);
        return NULL;
    }
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, dtype, tensor->ndim, shape,
                                                 data && tensor->strides ? steps : NULL, data,
                                                 read->writeable ? NPY_ARRAY_WRITEABLE : 0, NULL);
}

PyArrayObject *gm_exchange_view(gm_exchanged *read, PyObject *object, const char *name)
{
    PyArrayObject *view = view_on_host(read, name);
    PyObject *owner = view ? keep(read, object) : NULL;
    gm_exchange_release(read);
    if (view && (!owner || PyArray_SetBaseObject(view, owner) < 0)) { /* steals */
        Py_CLEAR(view);
    }
    return view;
}
