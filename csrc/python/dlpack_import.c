/* Borrows arrays of other libraries by DLPack. */
#include "python/dlpack_import.h"

#include "python/arrays.h"
#include "python/borrow.h"
#include "python/dlpack_device.h"
#include "python/dlpack_dtype.h"
#include "python/errors.h"

static const char USED_LEGACY[] = "used_dltensor", USED_VERSIONED[] = "used_dltensor_versioned";

/* The method's name, our version, and the names of keyword arguments: stream and max_version, or
 * one of them, or none. */
static PyObject *method_name, *our_version, *keywords[4];

int gm_dlpack_import_init(void)
{
    method_name = PyUnicode_InternFromString("__dlpack__");
    our_version = Py_BuildValue("ii", DLPACK_MAJOR_VERSION, GM_DLPACK_MINOR_VERSION);
    keywords[0] = PyTuple_New(0);
    keywords[1] = Py_BuildValue("(s)", "stream");
    keywords[2] = Py_BuildValue("(s)", "max_version");
    keywords[3] = Py_BuildValue("ss", "stream", "max_version");
    return method_name && our_version && keywords[0] && keywords[1] && keywords[2] && keywords[3]
               ? 0
               : -1;
}

static PyObject *call(PyObject *producer, PyObject *stream, bool versioned)
{
    PyObject *args[3] = {producer};
    int count = 1, which = (stream ? 1 : 0) + (versioned ? 2 : 0);
    if (stream) {
        args[count++] = stream;
    }
    if (versioned) {
        args[count] = our_version;
    }
    return PyObject_VectorcallMethod(method_name, args, 1, keywords[which]);
}

/* A producer says what it cannot lend, and knows no name for itself. */
static void name_buffer_error(const char *name)
{
    PyObject *type, *raised, *traceback;
    PyErr_Fetch(&type, &raised, &traceback);
    PyErr_NormalizeException(&type, &raised, &traceback);
    gm_raise_about(PyExc_BufferError, "%s: %S", name, raised);
    Py_XDECREF(type);
    Py_XDECREF(raised);
    Py_XDECREF(traceback);
}

/* A versioned capsule if the producer can make one. */
static PyObject *ask(PyObject *producer, PyObject *stream, const char *name)
{
    PyObject *capsule = call(producer, stream, true);
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = call(producer, stream, false);
    }
    if (!capsule && PyErr_ExceptionMatches(PyExc_BufferError)) {
        name_buffer_error(name);
    }
    return capsule;
}

PyArray_Descr *gm_dlpack_layout(const DLTensor *tensor, const char *name, int64_t *strides)
{
    if (tensor->ndim < 0 || tensor->ndim > GM_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "%s has %d dimensions, accepted are up to %d", name,
                     (int)tensor->ndim, GM_MAX_DIMS);
        return NULL;
    }
    if (tensor->ndim > 0 && !tensor->shape) {
        PyErr_Format(PyExc_ValueError, "%s has no shape", name);
        return NULL;
    }
    PyArray_Descr *dtype = gm_dlpack_dtype(tensor->dtype, name);
    for (int d = 0; dtype && tensor->strides && d < tensor->ndim; d++) {
        if (!gm_multiply(tensor->strides[d], PyDataType_ELSIZE(dtype), &strides[d])) {
            PyErr_Format(PyExc_ValueError, "%s has strides of more than 63 bits", name);
            Py_CLEAR(dtype);
        }
    }
    return dtype;
}

gm_device_array *gm_dlpack_describe(const DLTensor *tensor, int device, bool writeable,
                                    const gm_backend *backend, const char *name)
{
    int64_t strides[GM_MAX_DIMS];
    if (gm_dlpack_backend(tensor->device.device_type) != backend) {
        PyErr_Format(PyExc_ValueError, "%s is in %s memory, its __dlpack_device__ says otherwise",
                     name, gm_dlpack_name(tensor->device.device_type));
        return NULL;
    }
    PyArray_Descr *dtype = gm_dlpack_layout(tensor, name, strides);
    if (!dtype) {
        return NULL;
    }
    char *data = tensor->data ? (char *)tensor->data + tensor->byte_offset : NULL;
    gm_device_array *array = gm_borrow(backend, device, name, dtype, tensor->ndim, tensor->shape,
                                       tensor->strides ? strides : NULL, data, writeable);
    Py_DECREF(dtype);
    if (array) {
        array->memory->managed = tensor->device.device_type == kDLCUDAManaged;
    }
    return array;
}

static void delete_legacy(void *owner)
{
    DLManagedTensor *legacy = owner;
    if (legacy->deleter) {
        legacy->deleter(legacy);
    }
}

static void delete_versioned(void *owner)
{
    DLManagedTensorVersioned *versioned = owner;
    if (versioned->deleter) {
        versioned->deleter(versioned);
    }
}

static void forget_legacy(void *owner)
{
    gm_run_aside(delete_legacy, owner);
}

static void forget_versioned(void *owner)
{
    gm_run_aside(delete_versioned, owner);
}

void gm_dlpack_give_back(DLManagedTensorVersioned *tensor)
{
    forget_versioned(tensor);
}

void gm_dlpack_own(gm_device_array *array, DLManagedTensorVersioned *tensor)
{
    array->memory->forget = forget_versioned;
    array->memory->owner = tensor;
}

int gm_dlpack_check_version(const DLManagedTensorVersioned *tensor, const char *name)
{
    if (tensor->version.major == DLPACK_MAJOR_VERSION) {
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "%s speaks DLPack %u.%u, known is version %d", name,
                 (unsigned)tensor->version.major, (unsigned)tensor->version.minor,
                 DLPACK_MAJOR_VERSION);
    return -1;
}

/* Keeps the exception that is set. */
static bool has_dlpack(PyObject *object)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    bool has = PyObject_HasAttrString((PyObject *)Py_TYPE(object), "__dlpack__");
    PyErr_Restore(type, value, traceback);
    return has;
}

bool gm_dlpack_instead(PyObject *object)
{
    bool instead = PyErr_ExceptionMatches(PyExc_Exception) &&
                   !PyErr_ExceptionMatches(PyExc_MemoryError) && has_dlpack(object);
    if (instead) {
        PyErr_Clear();
    }
    return instead;
}

/* Renames a capsule that has this name. In one step: without the GIL, another thread may have the
 * same capsule. */
static bool rename_capsule(PyObject *capsule, const char *from, const char *to)
{
    bool renamed = false;
    Py_BEGIN_CRITICAL_SECTION(capsule);
    renamed = PyCapsule_IsValid(capsule, from) && PyCapsule_SetName(capsule, to) == 0;
    Py_END_CRITICAL_SECTION();
    return renamed;
}

static gm_device_array *take_versioned(DLManagedTensorVersioned *versioned,
                                       const gm_backend *backend, const char *name)
{
    bool writeable = !(versioned->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
    return gm_dlpack_check_version(versioned, name) < 0
               ? NULL
               : gm_dlpack_describe(&versioned->dl_tensor, -1, writeable, backend, name);
}

static gm_device_array *take(PyObject *capsule, const gm_backend *backend, const char *name)
{
    gm_device_array *array;
    bool versioned = rename_capsule(capsule, gm_dlpack_versioned, USED_VERSIONED);
    if (!versioned && !rename_capsule(capsule, gm_dlpack_legacy, USED_LEGACY)) {
        gm_raise_about(PyExc_TypeError,
                       "%s: __dlpack__ returned %.80R, expected a capsule that nobody has used",
                       name, capsule);
        return NULL;
    }
    void *owner = PyCapsule_GetPointer(capsule, versioned ? USED_VERSIONED : USED_LEGACY);
    if (versioned) {
        array = take_versioned(owner, backend, name);
    } else {
        array = gm_dlpack_describe(&((DLManagedTensor *)owner)->dl_tensor, -1, true, backend, name);
    }
    if (array) {
        array->memory->forget = versioned ? forget_versioned : forget_legacy;
        array->memory->owner = owner;
    } else { /* its own destructor deletes the tensor */
        PyCapsule_SetName(capsule, versioned ? gm_dlpack_versioned : gm_dlpack_legacy);
    }
    return array;
}

gm_device_array *gm_dlpack_adopt(PyObject *producer, const gm_backend *backend, const char *name,
                                 gm_stream stream)
{
    PyObject *number = NULL;
    if (!backend->host_memory) { /* host memory has no streams */
        number = stream ? PyLong_FromVoidPtr(stream) : PyLong_FromLong(1);
        if (!number) {
            return NULL;
        }
    }
    PyObject *capsule = ask(producer, number, name);
    gm_device_array *array = capsule ? take(capsule, backend, name) : NULL;
    Py_XDECREF(capsule);
    Py_XDECREF(number);
    return array;
}
