/* gpumem.DeviceArray, and the memory behind it. */
#include <string.h>

#include "memory/transfer.h"
#include "python/dlpack_export.h"
#include "python/python.h"
#include "python/refusals.h"

/* ---- making ------------------------------------------------------------------------------ */

gm_device_array *gm_device_array_wrap(gm_device_memory *memory, PyArrayObject *layout)
{
    gm_device_array *array = NULL;
    if (memory && layout) {
        array = PyObject_New(gm_device_array, &gm_device_array_type);
    }
    if (!array) {
        gm_device_memory_drop(memory);
        Py_XDECREF(layout);
        return NULL;
    }
    array->memory = memory;
    array->layout = layout;
    return array;
}

gm_device_array *gm_device_array_new(const gm_backend *backend, PyArray_Descr *dtype, int ndim,
                                     const npy_intp *shape)
{
    int64_t bytes;
    if (gm_count_bytes(dtype, ndim, shape, &bytes) < 0) {
        return NULL;
    }
    gm_device_memory *memory;
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = gm_device_memory_new(backend, bytes, &memory);
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        gm_raise(status);
        return NULL;
    }
    Py_INCREF(dtype);
    PyObject *layout = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, NULL,
                                            memory->address, NPY_ARRAY_WRITEABLE, NULL);
    return gm_device_array_wrap(memory, (PyArrayObject *)layout);
}

gm_device_array *gm_device_array_over(const gm_backend *backend, PyArrayObject *array)
{
    gm_device_memory *memory;
    gm_status status = gm_device_memory_none(backend, &memory);
    if (status != GM_OK) {
        gm_raise(status);
        return NULL;
    }
    return gm_device_array_wrap(memory, (PyArrayObject *)PyArray_View(array, NULL, &PyArray_Type));
}

int gm_enter_device(const gm_device_memory *memory, int *previous)
{
    gm_status status = memory->backend->use_device(memory->device, previous);
    if (status != GM_OK) {
        gm_raise(status);
        return -1;
    }
    return 0;
}

/* In silence: what went wrong before is to be told. */
void gm_leave_device(const gm_device_memory *memory, int previous)
{
    if (previous != memory->device) {
        gm_leave_numbered(memory->backend, previous);
    }
}

/* Another array over the same memory, from what NumPy made of the layout. */
static PyObject *view(gm_device_array *self, PyObject *layout)
{
    if (!layout) {
        return NULL;
    }
    return (PyObject *)gm_device_array_wrap(gm_device_memory_keep(self->memory),
                                            (PyArrayObject *)layout);
}

static PyObject *array_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"shape", "dtype", "device", "backend", NULL};
    PyArray_Dims shape = {NULL, 0};
    PyArray_Descr *dtype = NULL;
    PyObject *shape_object, *number = NULL, *backend_name = NULL, *made = NULL;
    const gm_backend *backend;
    int device, previous;
    (void)type;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O&$OO:DeviceArray", names, &shape_object,
                                     gm_dtype_converter, &dtype, &number, &backend_name)) {
        goto done;
    }
    if (gm_parse_shape(shape_object, &shape) < 0) {
        goto done;
    }
    if (!dtype) {
        dtype = PyArray_DescrFromType(NPY_FLOAT32);
    }
    if (gm_check_dtype(dtype, "dtype") == 0 && gm_parse_device(number, &device) == 0 &&
        gm_parse_backend(backend_name, &backend) == 0 &&
        gm_enter_numbered(backend, device, &previous) == 0) {
        made = (PyObject *)gm_device_array_new(backend, dtype, shape.len, shape.ptr);
        gm_leave_numbered(backend, previous);
    }
done:
    PyDimMem_FREE(shape.ptr);
    Py_XDECREF(dtype);
    return made;
}

static void array_dealloc(PyObject *self)
{
    gm_device_array *array = (gm_device_array *)self;
    Py_DECREF(array->layout);
    gm_device_memory_drop(array->memory);
    Py_TYPE(self)->tp_free(self);
}

/* ---- moving ------------------------------------------------------------------------------- */

/* Between the layout of a device array and a host array, both contiguous. */
static gm_status move(const gm_backend *backend, PyArrayObject *layout, PyArrayObject *host,
                      gm_direction direction, gm_stream stream)
{
    void *device = PyArray_DATA(layout), *at = PyArray_DATA(host);
    gm_memory_kind kind = gm_find_kind(host, backend);
    int64_t bytes = PyArray_NBYTES(host);
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = direction == GM_TO_DEVICE
                 ? gm_transfer_new(backend, device, at, bytes, kind, stream)
                 : gm_transfer(backend, at, device, bytes, kind, direction, stream);
    Py_END_ALLOW_THREADS
    return status;
}

/* To the current device. */
static gm_device_array *bring_in(PyObject *object, PyObject *stream_object,
                                 const gm_backend *backend)
{
    gm_device_array *made = NULL;
    gm_stream stream;
    if (gm_parse_waited_stream(stream_object, backend, &stream) < 0) {
        return NULL;
    }
    PyArrayObject *array = gm_host_array(object, "a");
    if (array) {
        Py_SETREF(array, gm_contiguous(array));
    }
    if (array) {
        made = gm_device_array_new(backend, PyArray_DESCR(array), PyArray_NDIM(array),
                                   PyArray_DIMS(array));
    }
    if (made) {
        gm_status status = move(backend, made->layout, array, GM_TO_DEVICE, stream);
        if (status != GM_OK) {
            Py_CLEAR(made);
            gm_raise(status);
        }
    }
    Py_XDECREF(array);
    return made;
}

PyObject *gm_to_device(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"a", "device", "stream", "backend", NULL};
    PyObject *object, *number = NULL, *stream_object = NULL, *backend_name = NULL;
    const gm_backend *backend;
    int device, previous;
    (void)module;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$OOO:to_device", names, &object, &number,
                                     &stream_object, &backend_name)) {
        return NULL;
    }
    if (gm_is_device_array(object)) {
        PyErr_SetString(PyExc_TypeError,
                        "a is a gpumem.DeviceArray already; a.copy() makes another");
        return NULL;
    }
    if (gm_parse_device(number, &device) < 0 || gm_parse_backend(backend_name, &backend) < 0 ||
        gm_enter_numbered(backend, device, &previous) < 0) {
        return NULL;
    }
    gm_device_array *made = bring_in(object, stream_object, backend);
    gm_leave_numbered(backend, previous);
    return (PyObject *)made;
}

/* A writable ndarray of this shape and dtype, apart from the array; 0 or -1 with an exception. */
static int check_host_out(gm_device_array *self, PyObject *out)
{
    if (!PyArray_Check(out)) {
        PyErr_Format(PyExc_TypeError, "out must be a NumPy array, not %.100s",
                     Py_TYPE(out)->tp_name);
        return -1;
    }
    PyArrayObject *array = (PyArrayObject *)out;
    if (gm_check_unmasked(out, "out") < 0 ||
        gm_check_out(array, PyArray_DESCR(self->layout), PyArray_NDIM(self->layout),
                     PyArray_DIMS(self->layout)) < 0) {
        return -1;
    }
    int overlaps = gm_overlaps(array, self->layout); /* the simulator's memory is the host's */
    if (overlaps > 0) {
        PyErr_SetString(PyExc_ValueError, "out overlaps the array in memory");
    }
    return overlaps ? -1 : PyArray_FailUnlessWriteable(array, "out");
}

static gm_device_array *copied(gm_device_array *array, gm_stream stream, bool apart)
{
    PyArrayObject *layout = array->layout;
    gm_device_array *copy = gm_device_array_new(array->memory->backend, PyArray_DESCR(layout),
                                                PyArray_NDIM(layout), PyArray_DIMS(layout));
    gm_status status = copy ? gm_pack(array, copy, stream, apart) : GM_OK;
    if (status != GM_OK) {
        Py_CLEAR(copy);
        gm_raise(status);
    }
    return copy;
}

gm_device_array *gm_device_array_copy(gm_device_array *array, gm_stream stream, bool apart)
{
    int previous;
    if (gm_enter_device(array->memory, &previous) < 0) {
        return NULL;
    }
    gm_device_array *copy = copied(array, stream, apart);
    gm_leave_device(array->memory, previous);
    return copy;
}

/* The array itself where it is contiguous. */
static gm_device_array *pack(gm_device_array *array, gm_stream stream)
{
    return PyArray_IS_C_CONTIGUOUS(array->layout) ? (gm_device_array *)Py_NewRef((PyObject *)array)
                                                  : copied(array, stream, false);
}

/* On the device of the array; out is NULL, or fits. */
static PyObject *bring(gm_device_array *self, PyArrayObject *out, gm_stream stream)
{
    const gm_backend *backend = self->memory->backend;
    gm_device_array *packed = pack(self, stream);
    if (!packed) {
        return NULL;
    }
    PyArrayObject *layout = packed->layout, *host = NULL;
    gm_status status = gm_device_memory_settle(self->memory);
    if (status == GM_OK) {
        if (out && PyArray_IS_C_CONTIGUOUS(out)) {
            host = (PyArrayObject *)Py_NewRef((PyObject *)out);
        } else {
            host = gm_host_result_new(backend, PyArray_DESCR(layout), PyArray_NDIM(layout),
                                      PyArray_DIMS(layout));
            if (!host) {
                Py_DECREF(packed);
                return NULL;
            }
        }
        status = move(backend, layout, host, GM_TO_HOST, stream);
    }
    Py_DECREF(packed);
    if (status != GM_OK) {
        Py_XDECREF(host);
        return gm_raise(status);
    }
    if (out && host != out) {
        int copied_out = gm_copy_into(out, host);
        Py_DECREF(host);
        return copied_out < 0 ? NULL : Py_NewRef((PyObject *)out);
    }
    return (PyObject *)host;
}

PyObject *gm_device_array_to_host(gm_device_array *self)
{
    int previous;
    if (gm_enter_device(self->memory, &previous) < 0) {
        return NULL;
    }
    PyObject *host = bring(self, NULL, NULL);
    gm_leave_device(self->memory, previous);
    return host;
}

static PyObject *array_to_host(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"out", "stream", NULL};
    gm_device_array *self = (gm_device_array *)object;
    PyObject *out = Py_None, *stream_object = NULL, *host = NULL;
    gm_stream stream;
    int previous;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O$O:to_host", names, &out, &stream_object) ||
        (out != Py_None && check_host_out(self, out) < 0) ||
        gm_enter_device(self->memory, &previous) < 0) {
        return NULL;
    }
    if (gm_parse_waited_stream(stream_object, self->memory->backend, &stream) == 0) {
        host = bring(self, out != Py_None ? (PyArrayObject *)out : NULL, stream);
    }
    gm_leave_device(self->memory, previous);
    return host;
}

/* To another device, from that of the array, which is the current one. */
static gm_device_array *send(gm_device_array *self, int device, PyObject *stream_object)
{
    gm_stream stream;
    if (gm_parse_waited_stream(stream_object, self->memory->backend, &stream) < 0) {
        return NULL;
    }
    gm_device_array *packed = pack(self, stream), *sent = NULL;
    if (packed) {
        gm_status status = gm_device_memory_settle(self->memory);
        if (status == GM_OK) {
            sent = gm_device_array_send(packed, device, stream);
        } else {
            gm_raise(status);
        }
        Py_DECREF(packed);
    }
    return sent;
}

static PyObject *array_copy(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"device", "stream", NULL};
    gm_device_array *self = (gm_device_array *)object;
    PyObject *number = NULL, *stream_object = NULL;
    gm_stream stream;
    bool apart;
    int device, previous;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OO:copy", names, &number, &stream_object) ||
        gm_parse_device(number, &device) < 0) {
        return NULL;
    }
    if (device >= 0 && device != self->memory->device) {
        if (gm_enter_device(self->memory, &previous) < 0) {
            return NULL;
        }
        gm_device_array *sent = send(self, device, stream_object);
        gm_leave_device(self->memory, previous);
        return (PyObject *)sent;
    }
    if (gm_parse_queue(stream_object, self->memory->backend, &stream, &apart) < 0) {
        return NULL;
    }
    return (PyObject *)gm_device_array_copy(self, stream, apart);
}

static gm_status fill(gm_device_array *self, int byte, gm_stream stream, bool apart)
{
    const gm_backend *backend = self->memory->backend;
    int previous;
    gm_status status = backend->use_device(self->memory->device, &previous);
    if (status != GM_OK) {
        return status;
    }
    status = apart ? backend->stream_join(stream, NULL) : gm_device_memory_settle(self->memory);
    if (status == GM_OK) {
        status =
            backend->fill(PyArray_DATA(self->layout), byte, PyArray_NBYTES(self->layout), stream);
    }
    if (status == GM_OK && apart) {
        status = gm_device_memory_used(self->memory, stream);
    }
    gm_leave_device(self->memory, previous);
    return status;
}

static PyObject *array_fill_bytes(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"byte", "stream", NULL};
    gm_device_array *self = (gm_device_array *)object;
    PyObject *stream_object = NULL;
    gm_stream stream;
    bool apart;
    int byte;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "i|$O:fill_bytes", names, &byte,
                                     &stream_object) ||
        gm_parse_queue(stream_object, self->memory->backend, &stream, &apart) < 0) {
        return NULL;
    }
    if (byte < 0 || byte > 255) {
        return PyErr_Format(PyExc_ValueError, "byte is %d, expected 0 to 255", byte);
    }
    if (!PyArray_IS_C_CONTIGUOUS(self->layout)) {
        PyErr_SetString(PyExc_ValueError, "only a C-contiguous array can be filled");
        return NULL;
    }
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = fill(self, byte, stream, apart);
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        return gm_raise(status);
    }
    Py_RETURN_NONE;
}

/* ---- views -------------------------------------------------------------------------------- */

static bool is_basic_index(PyObject *index)
{
    return index == Py_None || index == Py_Ellipsis || PySlice_Check(index) ||
           (PyLong_Check(index) && !PyBool_Check(index)) || PyArray_IsScalar(index, Integer);
}

/* NumPy indexes the layout; anything but basic indexing would read through it. */
static PyObject *array_getitem(PyObject *object, PyObject *index)
{
    gm_device_array *self = (gm_device_array *)object;
    if (PyUnicode_Check(index)) { /* a field of a structured dtype */
        return view(self, PyObject_GetItem((PyObject *)self->layout, index));
    }
    PyObject *items = PyTuple_Check(index) ? Py_NewRef(index) : PyTuple_Pack(1, index);
    if (!items) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    bool has_ellipsis = false;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        if (!is_basic_index(item)) {
            PyErr_Format(PyExc_TypeError,
                         "a gpumem.DeviceArray is indexed by integers, slices, ... and None, "
                         "not %.100s",
                         Py_TYPE(item)->tp_name);
            Py_DECREF(items);
            return NULL;
        }
        has_ellipsis |= item == Py_Ellipsis;
    }
    /* With an ellipsis NumPy returns a view even where all dimensions are picked. */
    PyObject *full = NULL;
    if (has_ellipsis) {
        full = Py_NewRef(items);
    } else if ((full = PyTuple_New(count + 1))) {
        for (Py_ssize_t i = 0; i < count; i++) {
            PyTuple_SET_ITEM(full, i, Py_NewRef(PyTuple_GET_ITEM(items, i)));
        }
        PyTuple_SET_ITEM(full, count, Py_NewRef(Py_Ellipsis));
    }
    Py_DECREF(items);
    if (!full) {
        return NULL;
    }
    PyObject *layout = PyObject_GetItem((PyObject *)self->layout, full);
    Py_DECREF(full);
    return view(self, layout);
}

static PyObject *array_reshape(PyObject *object, PyObject *args)
{
    gm_device_array *self = (gm_device_array *)object;
    if (!PyArray_IS_C_CONTIGUOUS(self->layout)) {
        PyErr_SetString(PyExc_ValueError,
                        "only a C-contiguous array can be reshaped; copy() makes one");
        return NULL;
    }
    PyObject *method = PyObject_GetAttrString((PyObject *)self->layout, "reshape");
    PyObject *layout = method ? PyObject_CallObject(method, args) : NULL;
    Py_XDECREF(method);
    return view(self, layout);
}

static PyObject *array_view(PyObject *object, PyObject *dtype_object)
{
    gm_device_array *self = (gm_device_array *)object;
    PyArray_Descr *dtype = NULL;
    if (!gm_dtype_converter(dtype_object, &dtype)) {
        return NULL;
    }
    if (gm_check_dtype(dtype, "dtype") < 0) {
        Py_DECREF(dtype);
        return NULL;
    }
    return view(self, PyArray_View(self->layout, dtype, NULL));
}

static PyObject *array_transposed(PyObject *object, void *unused)
{
    (void)unused;
    gm_device_array *self = (gm_device_array *)object;
    return view(self, PyArray_Transpose(self->layout, NULL));
}

/* ---- attributes --------------------------------------------------------------------------- */

static PyObject *array_from_layout(PyObject *object, void *name)
{
    return PyObject_GetAttrString((PyObject *)((gm_device_array *)object)->layout, name);
}

static PyObject *array_backend(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(((gm_device_array *)object)->memory->backend->name);
}

static PyObject *array_device(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromLong(((gm_device_array *)object)->memory->device);
}

static PyObject *array_pointer(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(PyArray_DATA(((gm_device_array *)object)->layout));
}

static PyObject *array_contiguous(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(PyArray_IS_C_CONTIGUOUS(((gm_device_array *)object)->layout));
}

static PyObject *array_repr(PyObject *object)
{
    gm_device_array *self = (gm_device_array *)object;
    PyObject *shape = PyObject_GetAttrString((PyObject *)self->layout, "shape");
    if (!shape) {
        return NULL;
    }
    PyObject *text = PyUnicode_FromFormat("DeviceArray(shape=%R, dtype='%S', backend='%s')", shape,
                                          PyArray_DESCR(self->layout), self->memory->backend->name);
    Py_DECREF(shape);
    return text;
}

static Py_ssize_t array_length(PyObject *object)
{
    return PyObject_Length((PyObject *)((gm_device_array *)object)->layout);
}

/* By identity, so that arrays can be keys although == raises: dicts and sets compare only what has
 * the same hash, and no two arrays alive have. */
static Py_hash_t array_hash(PyObject *object)
{
    return PyBaseObject_Type.tp_hash(object);
}

static PyGetSetDef array_attributes[] = {
    {"shape", array_from_layout, NULL, "Length of each dimension.", "shape"},
    {"strides", array_from_layout, NULL, "Bytes from one element to the next.", "strides"},
    {"dtype", array_from_layout, NULL, "The elements' NumPy dtype.", "dtype"},
    {"ndim", array_from_layout, NULL, "Number of dimensions.", "ndim"},
    {"size", array_from_layout, NULL, "Number of elements.", "size"},
    {"nbytes", array_from_layout, NULL, "Bytes of all elements.", "nbytes"},
    {"itemsize", array_from_layout, NULL, "Bytes of one element.", "itemsize"},
    {"T", array_transposed, NULL, "A view with the dimensions reversed.", NULL},
    {"backend", array_backend, NULL, "\"cuda\" or \"sim\".", NULL},
    {"device", array_device, NULL, "Number of the device within its backend.", NULL},
    {"pointer", array_pointer, NULL, "Address of the first element in device memory.", NULL},
    {"contiguous", array_contiguous, NULL, "C order without gaps?", NULL},
    {"__cuda_array_interface__", gm_interface_export, NULL,
     "For other libraries, version 3; arrays of the simulator have none. Reading it waits for\n"
     "pending work: not every library asks for its stream. DLPack goes without the wait.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef array_methods[] = {
    {"to_host", (PyCFunction)(void (*)(void))array_to_host, METH_VARARGS | METH_KEYWORDS,
     "to_host($self, out=None, *, stream=None)\n--\n\n"
     "Copy to a NumPy array.\n\n"
     "Parameters\n----------\n"
     "out : ndarray, optional\n"
     "    Where to put it: same shape and dtype, writable, any layout.\n"
     "stream : Stream or another library's, optional\n"
     "    Runs after what was put on this stream.\n\n"
     "Returns\n-------\nndarray\n    `out`, or a new C-contiguous array."
     "\n\nExamples\n--------\n"
     ">>> import numpy as np, gpumem as gm\n"
     ">>> gm.to_device(np.arange(3), backend='sim').to_host()\n"
     "array([0, 1, 2])"},
    {"copy", (PyCFunction)(void (*)(void))array_copy, METH_VARARGS | METH_KEYWORDS,
     "copy($self, *, device=None, stream=None)\n--\n\n"
     "Return a C-contiguous copy on the same device, or on another.\n\n"
     "Parameters\n----------\n"
     "device : int, optional\n"
     "    The number of the device that gets it. A copy on another device is there on return: it\n"
     "    goes over directly where the devices can reach each other, else through the host.\n"
     "stream : Stream or another library's, optional\n"
     "    The queue that the copy joins, of the device that the array is on; by default, the\n"
     "    default stream.\n\n"
     "Returns\n-------\nDeviceArray"
     "\n\nExamples\n--------\n"
     ">>> import numpy as np, gpumem as gm\n"
     ">>> d = gm.to_device(np.arange(4), backend='sim')\n"
     ">>> d[::2].copy().contiguous\n"
     "True"},
    {"__dlpack__", (PyCFunction)(void (*)(void))gm_dlpack_export, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "Lend the memory to another library, as the Python array API standard says; see "
     "gpumem.from_dlpack."},
    {"__dlpack_device__", gm_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\n"
     "DLPack's code of the kind of device, and its number: 2 for CUDA; 1, the host, for the "
     "simulator."},
    {"fill_bytes", (PyCFunction)(void (*)(void))array_fill_bytes, METH_VARARGS | METH_KEYWORDS,
     "fill_bytes($self, byte, *, stream=None)\n--\n\n"
     "Set every byte of a contiguous array to one value, 0 to 255."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> d = gm.DeviceArray(3, 'int32', backend='sim')\n"
     ">>> d.fill_bytes(0)\n"
     ">>> d.to_host()\n"
     "array([0, 0, 0], dtype=int32)"},
    {"reshape", array_reshape, METH_VARARGS,
     "reshape($self, *shape)\n--\n\nA view of a contiguous array with another shape."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> gm.DeviceArray(6, backend='sim').reshape(2, 3).shape\n"
     "(2, 3)"},
    {"view", array_view, METH_O,
     "view($self, dtype, /)\n--\n\nThe same bytes as another dtype, by NumPy's rules."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> gm.DeviceArray(6, 'float32', backend='sim').view('float64').shape\n"
     "(3,)"},
    {"__complex__", gm_refuse_complex, METH_NOARGS, "Raises TypeError."},
    {"__array__", (PyCFunction)(void (*)(void))gm_refuse_array, METH_VARARGS | METH_KEYWORDS,
     "Raises TypeError: the copy to the host is always explicit."},
    {"__array_ufunc__", (PyCFunction)(void (*)(void))gm_refuse_function,
     METH_VARARGS | METH_KEYWORDS, "Raises TypeError: NumPy's functions work on the host."},
    {"__array_function__", (PyCFunction)(void (*)(void))gm_refuse_function,
     METH_VARARGS | METH_KEYWORDS, "Raises TypeError: NumPy's functions work on the host."},
    {NULL, NULL, 0, NULL},
};

static PyMappingMethods array_mapping = {
    .mp_length = array_length,
    .mp_subscript = array_getitem,
};

PyTypeObject gm_device_array_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpumem.DeviceArray",
    .tp_basicsize = sizeof(gm_device_array),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "DeviceArray(shape, dtype='float32', *, device=None, backend=None)\n--\n\n"
              "An array in the memory of a backend: a GPU's, or the simulator's.\n\n"
              "Parameters\n----------\n"
              "shape : int or sequence of int\n"
              "dtype : data-type, optional\n"
              "    Any dtype of plain bytes in native order.\n"
              "device : int, optional\n"
              "    Its number; by default, the current device of the thread, as set by the\n"
              "    library that sets it, which stays what it is.\n"
              "backend : {'cuda', 'sim', 'auto'}, optional\n\n"
              "Notes\n-----\n"
              "The memory is not initialised. Slices, `reshape`, `view` and `T` are views of it.\n"
              "What would need the elements on the host raises a TypeError: comparing (``==``\n"
              "too), `bool`, `float`, iterating, and NumPy's functions. The hash is by identity.\n"
              "Other libraries use it where it is, through DLPack or `__cuda_array_interface__`."
              "\n\nExamples\n--------\n"
              ">>> import gpumem as gm\n"
              ">>> d = gm.DeviceArray((2, 3), backend='sim')\n"
              ">>> d, d.nbytes\n"
              "(DeviceArray(shape=(2, 3), dtype='float32', backend='sim'), 24)\n"
              ">>> d[:, 1:].T.shape\n"
              "(2, 2)",
    .tp_new = array_new,
    .tp_dealloc = array_dealloc,
    .tp_repr = array_repr,
    .tp_hash = array_hash,
    .tp_richcompare = gm_refuse_compare,
    .tp_iter = gm_refuse_iter,
    .tp_as_number = &gm_refused_numbers,
    .tp_as_sequence = &gm_refused_sequence,
    .tp_as_mapping = &array_mapping,
    .tp_getset = array_attributes,
    .tp_methods = array_methods,
};
