/*
 * DLPack both ways: capsules that hold a tensor, and the function that gives it back.
 *
 * Whoever takes a capsule renames it; one that nobody took frees its tensor itself. Tensors are
 * given back on any thread, with the GIL or without, and after the interpreter has gone: what is
 * done here then needs no Python.
 */
#include "python/dlpack.h"

#include <stdlib.h>

#include "python/python.h"

static const char LEGACY[] = "dltensor", VERSIONED[] = "dltensor_versioned";
static const char USED_LEGACY[] = "used_dltensor", USED_VERSIONED[] = "used_dltensor_versioned";

/* ---- kinds of device --------------------------------------------------------------------------
 */

const char *gm_dlpack_name(int type)
{
    static const char *const names[] = {
        [DL_CPU] = "host", [DL_CUDA] = "CUDA", [DL_CUDA_HOST] = "page-locked host",
        [4] = "OpenCL",    [7] = "Vulkan",     [8] = "Metal",
        [10] = "ROCm",     [11] = "ROCm host", [DL_CUDA_MANAGED] = "managed CUDA",
        [14] = "oneAPI",   [15] = "WebGPU",    [16] = "Hexagon",
    };
    const int count = sizeof names / sizeof *names;
    return type >= 0 && type < count && names[type] ? names[type] : "another device's";
}

const gm_backend *gm_dlpack_backend(int type)
{
    switch (type) {
    case DL_CPU:
    case DL_CUDA_HOST: return &gm_sim;
    case DL_CUDA:
    case DL_CUDA_MANAGED: return &gm_cuda;
    default: return NULL;
    }
}

static dl_device device_of(const gm_device_memory *memory)
{
    if (memory->backend != &gm_cuda) {
        return (dl_device){DL_CPU, 0}; /* the simulator's memory is the host's */
    }
    return (dl_device){memory->managed ? DL_CUDA_MANAGED : DL_CUDA, memory->device};
}

/* ---- lending ----------------------------------------------------------------------------------
 */

/* A tensor of either layout, its numbers, and a share in the memory. */
typedef struct lent {
    union {
        dl_legacy legacy;
        dl_versioned versioned;
    } as;
    gm_device_memory *memory;
    int64_t numbers[]; /* shape, strides */
} lent;

static void give_back_legacy(dl_legacy *self)
{
    gm_device_memory_drop(((lent *)self->context)->memory);
    free(self->context);
}

static void give_back_versioned(dl_versioned *self)
{
    gm_device_memory_drop(((lent *)self->context)->memory);
    free(self->context);
}

/* Of a capsule that nobody took, of our own making or another's. */
static void capsule_dealloc(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, LEGACY)) {
        dl_legacy *legacy = PyCapsule_GetPointer(capsule, LEGACY);
        legacy->deleter(legacy);
    } else if (PyCapsule_IsValid(capsule, VERSIONED)) {
        dl_versioned *versioned = PyCapsule_GetPointer(capsule, VERSIONED);
        versioned->deleter(versioned);
    }
}

/* DLPack's code of a dtype; -1 and a BufferError where there is none. */
static int find_code(PyArray_Descr *dtype)
{
    npy_intp size = PyDataType_ELSIZE(dtype);
    int number = dtype->type_num;
    bool extended = number == NPY_LONGDOUBLE || number == NPY_CLONGDOUBLE;
    if (size > 0 && !PyDataType_HASFIELDS(dtype) && !PyDataType_HASSUBARRAY(dtype)) {
        switch (dtype->kind) {
        case 'b': return DL_BOOL;
        case 'i': return DL_INT;
        case 'u': return DL_UINT;
        case 'f':
            if (!extended) {
                return DL_FLOAT;
            }
            break;
        case 'c':
            if (!extended) {
                return DL_COMPLEX;
            }
            break;
        }
    }
    PyErr_Format(PyExc_BufferError, "DLPack has no code for dtype %R; view() may help", dtype);
    return -1;
}

static int describe(dl_tensor *tensor, int64_t *numbers, const gm_device_array *array)
{
    PyArrayObject *layout = array->layout;
    int ndim = PyArray_NDIM(layout), code = find_code(PyArray_DESCR(layout));
    int64_t itemsize = PyArray_ITEMSIZE(layout);
    npy_intp strides[GM_MAX_DIMS];
    if (code < 0 || gm_lent_strides(layout, strides) < 0) {
        return -1;
    }
    for (int d = 0; d < ndim; d++) {
        numbers[d] = PyArray_DIM(layout, d);
        numbers[ndim + d] = strides[d] / itemsize;
    }
    *tensor = (dl_tensor){
        .data = PyArray_DATA(layout),
        .device = device_of(array->memory),
        .ndim = ndim,
        .dtype = {.code = (uint8_t)code, .bits = (uint8_t)(8 * itemsize), .lanes = 1},
        .shape = numbers,
        .strides = numbers + ndim,
    };
    return 0;
}

static PyObject *lend(gm_device_array *array, bool versioned, bool copied)
{
    int ndim = PyArray_NDIM(array->layout);
    lent *made = malloc(sizeof *made + 2 * (size_t)ndim * sizeof(int64_t));
    dl_tensor tensor;
    if (!made) {
        return PyErr_NoMemory();
    }
    if (describe(&tensor, made->numbers, array) < 0) {
        free(made);
        return NULL;
    }
    if (versioned) {
        made->as.versioned = (dl_versioned){
            .version = {DL_VERSION_MAJOR, DL_VERSION_MINOR},
            .context = made,
            .deleter = give_back_versioned,
            .flags = copied ? DL_IS_COPIED : 0,
            .tensor = tensor,
        };
    } else {
        made->as.legacy = (dl_legacy){tensor, made, give_back_legacy};
    }
    PyObject *capsule = PyCapsule_New(&made->as, versioned ? VERSIONED : LEGACY, capsule_dealloc);
    if (!capsule) {
        free(made);
        return NULL;
    }
    made->memory = gm_device_memory_keep(array->memory);
    return capsule;
}

/* False, perhaps with an exception, when the tuple is not two integers. */
static bool read_pair(PyObject *pair, int *first, int *second)
{
    if (PyTuple_GET_SIZE(pair) != 2) {
        return false;
    }
    long a = PyLong_AsLong(PyTuple_GET_ITEM(pair, 0));
    long b = PyErr_Occurred() ? -1 : PyLong_AsLong(PyTuple_GET_ITEM(pair, 1));
    *first = (int)a;
    *second = (int)b;
    return !PyErr_Occurred() && a == *first && b == *second;
}

/* Two integers; -1 and an exception when they are none. */
static int parse_pair(PyObject *object, const char *name, int *first, int *second)
{
    PyObject *pair =
        PySequence_Check(object) && !PyUnicode_Check(object) ? PySequence_Tuple(object) : NULL;
    bool parsed = pair && read_pair(pair, first, second);
    Py_XDECREF(pair);
    if (parsed) {
        return 0;
    }
    if (gm_forgive_value()) {
        PyErr_Format(PyExc_TypeError, "%s must be a tuple of two integers, not %.80R", name,
                     object);
    }
    return -1;
}

/* The stream that takes over, by the array API's numbers: none is the legacy default stream, which
 * is 1, 2 that of the thread, and -1 asks for no order. */
static int parse_consumer(PyObject *object, const gm_backend *backend, gm_stream *stream,
                          bool *ordered)
{
    *stream = NULL;
    *ordered = true;
    if (object == Py_None) {
        return 0;
    }
    if (PyBool_Check(object) || !PyLong_Check(object)) {
        PyErr_Format(PyExc_TypeError, "stream must be an int or None, not %.100s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (number == -1 && !overflow) {
        *ordered = false;
        return 0;
    }
    if (backend != &gm_cuda) {
        PyErr_Format(PyExc_ValueError,
                     "stream is %.80R, the simulator's memory is the host's, which has none",
                     object);
        return -1;
    }
    if (overflow > 0 || number > 0) {
        return gm_parse_stream(object, backend, stream);
    }
    PyErr_Format(PyExc_ValueError,
                 "stream is %.80R, expected None, -1 (no order), 1 (the legacy default stream), 2 "
                 "(that of the thread) or a cudaStream_t",
                 object);
    return -1;
}

/* On the device of the array. */
static gm_status hand_over(gm_device_array *array, gm_stream stream, bool ordered)
{
    if (!ordered) {
        return GM_OK;
    }
    gm_status status = gm_device_memory_settle(array->memory);
    return status == GM_OK ? array->memory->backend->stream_join(stream, NULL) : status;
}

static PyObject *lend_in_order(gm_device_array *array, PyObject *stream_object, bool versioned,
                               bool copied)
{
    gm_stream stream;
    bool ordered;
    if (parse_consumer(stream_object, array->memory->backend, &stream, &ordered) < 0) {
        return NULL;
    }
    PyObject *capsule = lend(array, versioned, copied);
    gm_status status = capsule ? hand_over(array, stream, ordered) : GM_OK;
    if (status != GM_OK) {
        Py_CLEAR(capsule);
        gm_raise(status);
    }
    return capsule;
}

/* By way of NumPy, which knows what its arrays may be asked for. */
static PyObject *lend_from_host(gm_device_array *array, PyObject *max_version)
{
    PyObject *host = gm_device_array_to_host(array), *capsule = NULL;
    PyObject *method = host ? PyObject_GetAttrString(host, "__dlpack__") : NULL;
    PyObject *none = PyTuple_New(0), *keywords = PyDict_New();
    if (method && none && keywords &&
        (max_version == Py_None ||
         PyDict_SetItemString(keywords, "max_version", max_version) == 0)) {
        capsule = PyObject_Call(method, none, keywords);
    }
    Py_XDECREF(keywords);
    Py_XDECREF(none);
    Py_XDECREF(method);
    Py_XDECREF(host);
    return capsule;
}

PyObject *gm_dlpack_export(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    gm_device_array *self = (gm_device_array *)object;
    PyObject *stream = Py_None, *max_version = Py_None, *dl_device_object = Py_None;
    PyObject *copy = Py_None, *capsule = NULL;
    int major = 0, minor, type, id, previous;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO:__dlpack__", names, &stream,
                                     &max_version, &dl_device_object, &copy) ||
        (max_version != Py_None && parse_pair(max_version, "max_version", &major, &minor) < 0)) {
        return NULL;
    }
    if (copy != Py_None && !PyBool_Check(copy)) {
        return PyErr_Format(PyExc_TypeError, "copy must be a bool or None, not %.100s",
                            Py_TYPE(copy)->tp_name);
    }
    if (dl_device_object != Py_None) {
        dl_device here = device_of(self->memory);
        if (parse_pair(dl_device_object, "dl_device", &type, &id) < 0) {
            return NULL;
        }
        if (type == DL_CPU && here.type != DL_CPU && copy != Py_False) {
            return lend_from_host(self, max_version);
        }
        if (type != here.type || id != here.id) {
            return PyErr_Format(
                PyExc_BufferError, "the array is on device (%d, %d), not on (%d, %d)%s", here.type,
                here.id, type, id, type == DL_CPU ? ", where only a copy could be" : "");
        }
    }
    if (copy == Py_True) {
        self = gm_device_array_copy(self, NULL, false);
    } else {
        Py_INCREF(self);
    }
    if (self && gm_enter_device(self->memory, &previous) == 0) {
        capsule = lend_in_order(self, stream, major >= 1, copy == Py_True);
        gm_leave_device(self->memory, previous);
    }
    Py_XDECREF(self);
    return capsule;
}

PyObject *gm_dlpack_device(PyObject *object, PyObject *unused)
{
    (void)unused;
    dl_device device = device_of(((gm_device_array *)object)->memory);
    return Py_BuildValue("ii", (int)device.type, (int)device.id);
}

/* ---- borrowing --------------------------------------------------------------------------------
 */

int gm_dlpack_find(PyObject *producer, int *type, int *device)
{
    PyObject *method, *pair;
    if (PyType_Check(producer)) {
        return 0;
    }
    if (gm_optional_attribute(producer, "__dlpack_device__", &method) < 0) {
        return -1;
    }
    if (!method) {
        return 0;
    }
    pair = PyObject_CallNoArgs(method);
    Py_DECREF(method);
    int parsed = pair ? parse_pair(pair, "what __dlpack_device__ returns", type, device) : -1;
    Py_XDECREF(pair);
    return parsed < 0 ? -1 : 1;
}

/* A capsule of version 1 if the producer knows it. */
static PyObject *ask(PyObject *producer, PyObject *stream)
{
    PyObject *method = PyObject_GetAttrString(producer, "__dlpack__");
    PyObject *none = method ? PyTuple_New(0) : NULL;
    PyObject *keywords =
        none ? Py_BuildValue("{s:(ii)}", "max_version", DL_VERSION_MAJOR, DL_VERSION_MINOR) : NULL;
    PyObject *capsule = NULL;
    if (keywords && (!stream || PyDict_SetItemString(keywords, "stream", stream) == 0)) {
        capsule = PyObject_Call(method, none, keywords);
        if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            if (PyDict_DelItemString(keywords, "max_version") == 0) {
                capsule = PyObject_Call(method, none, keywords);
            }
        }
    }
    Py_XDECREF(keywords);
    Py_XDECREF(none);
    Py_XDECREF(method);
    return capsule;
}

/* A new reference; NULL and a TypeError for elements that NumPy does not know. */
static PyArray_Descr *find_dtype(const dl_tensor *tensor, const char *name)
{
    int bits = tensor->dtype.bits, number = -1;
    if (tensor->dtype.lanes != 1) {
        PyErr_Format(PyExc_TypeError, "%s has elements of %d lanes, accepted is 1", name,
                     (int)tensor->dtype.lanes);
        return NULL;
    }
    switch (tensor->dtype.code) {
    case DL_INT:
        number = bits == 8    ? NPY_INT8
                 : bits == 16 ? NPY_INT16
                 : bits == 32 ? NPY_INT32
                 : bits == 64 ? NPY_INT64
                              : -1;
        break;
    case DL_UINT:
        number = bits == 8    ? NPY_UINT8
                 : bits == 16 ? NPY_UINT16
                 : bits == 32 ? NPY_UINT32
                 : bits == 64 ? NPY_UINT64
                              : -1;
        break;
    case DL_FLOAT:
        number = bits == 16   ? NPY_FLOAT16
                 : bits == 32 ? NPY_FLOAT32
                 : bits == 64 ? NPY_FLOAT64
                              : -1;
        break;
    case DL_COMPLEX: number = bits == 64 ? NPY_COMPLEX64 : bits == 128 ? NPY_COMPLEX128 : -1; break;
    case DL_BOOL: number = bits == 8 ? NPY_BOOL : -1; break;
    case DL_BFLOAT:
        PyErr_Format(PyExc_TypeError,
                     "%s has dtype bfloat%d, which NumPy does not know; a view of it as integers "
                     "can be moved",
                     name, bits);
        return NULL;
    }
    if (number < 0) {
        PyErr_Format(PyExc_TypeError,
                     "%s has elements of DLPack's code %d with %d bits, which NumPy does not know",
                     name, (int)tensor->dtype.code, bits);
        return NULL;
    }
    return PyArray_DescrFromType(number);
}

/* The tensor as an array that does not own it yet. */
static gm_device_array *describe_borrowed(const dl_tensor *tensor, bool writable,
                                          const gm_backend *backend, const char *name)
{
    int64_t strides[GM_MAX_DIMS];
    if (gm_dlpack_backend(tensor->device.type) != backend) {
        PyErr_Format(PyExc_ValueError, "%s is in %s memory, its __dlpack_device__ says otherwise",
                     name, gm_dlpack_name(tensor->device.type));
        return NULL;
    }
    if (tensor->ndim < 0 || tensor->ndim > GM_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "%s has %d dimensions, accepted are up to %d", name,
                     (int)tensor->ndim, GM_MAX_DIMS);
        return NULL;
    }
    if (tensor->ndim > 0 && !tensor->shape) {
        PyErr_Format(PyExc_ValueError, "%s has no shape", name);
        return NULL;
    }
    PyArray_Descr *dtype = find_dtype(tensor, name);
    if (!dtype) {
        return NULL;
    }
    for (int d = 0; tensor->strides && d < tensor->ndim; d++) {
        if (!gm_multiply(tensor->strides[d], PyDataType_ELSIZE(dtype), &strides[d])) {
            PyErr_Format(PyExc_ValueError, "%s has strides of more than 63 bits", name);
            Py_DECREF(dtype);
            return NULL;
        }
    }
    char *data = tensor->data ? (char *)tensor->data + tensor->byte_offset : NULL;
    gm_device_array *array = gm_borrow(backend, name, dtype, tensor->ndim, tensor->shape,
                                       tensor->strides ? strides : NULL, data, writable);
    Py_DECREF(dtype);
    if (array) {
        array->memory->managed = tensor->device.type == DL_CUDA_MANAGED;
    }
    return array;
}

static void delete_legacy(void *owner)
{
    dl_legacy *legacy = owner;
    if (legacy->deleter) {
        legacy->deleter(legacy);
    }
}

static void delete_versioned(void *owner)
{
    dl_versioned *versioned = owner;
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

static gm_device_array *take(PyObject *capsule, const gm_backend *backend, const char *name)
{
    gm_device_array *array;
    void *owner;
    if (PyCapsule_IsValid(capsule, VERSIONED)) {
        dl_versioned *versioned = owner = PyCapsule_GetPointer(capsule, VERSIONED);
        if (versioned->version.major != DL_VERSION_MAJOR) { /* nothing else may be looked at */
            PyErr_Format(PyExc_ValueError, "%s speaks DLPack %u.%u, known is version %d", name,
                         (unsigned)versioned->version.major, (unsigned)versioned->version.minor,
                         DL_VERSION_MAJOR);
            return NULL;
        }
        array = describe_borrowed(&versioned->tensor, !(versioned->flags & DL_READ_ONLY), backend,
                                  name);
    } else if (PyCapsule_IsValid(capsule, LEGACY)) {
        dl_legacy *legacy = owner = PyCapsule_GetPointer(capsule, LEGACY);
        array = describe_borrowed(&legacy->tensor, true, backend, name);
    } else {
        PyErr_Format(PyExc_TypeError,
                     "%s: __dlpack__ returned %.80R, expected a capsule that nobody has used", name,
                     capsule);
        return NULL;
    }
    bool versioned = PyCapsule_IsValid(capsule, VERSIONED);
    if (array && PyCapsule_SetName(capsule, versioned ? USED_VERSIONED : USED_LEGACY) < 0) {
        Py_CLEAR(array);
    }
    if (array) {
        array->memory->forget = versioned ? forget_versioned : forget_legacy;
        array->memory->owner = owner;
    }
    return array;
}

gm_device_array *gm_dlpack_adopt(PyObject *producer, const gm_backend *backend, const char *name,
                                 gm_stream stream)
{
    PyObject *number = NULL;
    if (backend == &gm_cuda) { /* on the host there is nothing to wait for */
        number = stream ? PyLong_FromVoidPtr(stream) : PyLong_FromLong(1);
        if (!number) {
            return NULL;
        }
    }
    PyObject *capsule = ask(producer, number);
    gm_device_array *array = capsule ? take(capsule, backend, name) : NULL;
    Py_XDECREF(capsule);
    Py_XDECREF(number);
    return array;
}
