/* The constructor, methods and attributes of DeviceArray. */
#include "python/device_type.h"

#include "python/arrays.h"
#include "python/device_array.h"
#include "python/device_assign.h"
#include "python/device_astype.h"
#include "python/device_elements.h"
#include "python/device_flags.h"
#include "python/device_repr.h"
#include "python/device_views.h"
#include "python/devices.h"
#include "python/dlpack_export.h"
#include "python/dlpack_table.h"
#include "python/errors.h"
#include "python/interface.h"
#include "python/refusals.h"
#include "python/streams.h"
#include "python/values.h"

/* ---- making --------------------------------------------------------------------------------- */

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
                        "a is already a gpumem.DeviceArray; a.copy() makes another");
        return NULL;
    }
    if (gm_parse_device(number, &device) < 0 || gm_parse_backend(backend_name, &backend) < 0 ||
        gm_enter_numbered(backend, device, &previous) < 0) {
        return NULL;
    }
    gm_device_array *made = gm_device_array_from_host(object, stream_object, backend);
    gm_leave_numbered(backend, previous);
    return (PyObject *)made;
}

/* ---- copies ------------------------------------------------------------------------------- */

/* out has to be a writeable ndarray of this shape and dtype that does not overlap the array. */
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
                     PyArray_DIMS(self->layout)) < 0 ||
        PyArray_FailUnlessWriteable(array, "out") < 0 || gm_check_apart(array, "out") < 0) {
        return -1;
    }
    int overlaps = gm_overlaps(array, self->layout); /* on the simulator it could */
    if (overlaps > 0) {
        PyErr_SetString(PyExc_ValueError, "out overlaps the array in memory");
    }
    return overlaps ? -1 : 0;
}

static PyObject *array_to_host(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"out", "stream", NULL};
    gm_device_array *self = (gm_device_array *)object;
    PyObject *out = Py_None, *stream = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O$O:to_host", names, &out, &stream) ||
        (out != Py_None && check_host_out(self, out) < 0)) {
        return NULL;
    }
    return gm_device_array_to_host(self, out != Py_None ? (PyArrayObject *)out : NULL, stream);
}

static PyObject *array_copy(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"device", "stream", NULL};
    gm_device_array *self = (gm_device_array *)object;
    PyObject *number = NULL, *stream_object = NULL;
    gm_stream stream;
    bool nonblocking;
    int device;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OO:copy", names, &number, &stream_object) ||
        gm_parse_device(number, &device) < 0) {
        return NULL;
    }
    if (device >= 0 && device != self->memory->device) {
        return (PyObject *)gm_device_array_send(self, device, stream_object);
    }
    if (gm_device_array_queue(self, stream_object, &stream, &nonblocking) < 0) {
        return NULL;
    }
    return (PyObject *)gm_device_array_copy(self, stream, nonblocking);
}

static int parse_byte(PyObject *object, int *byte)
{
    if (!gm_is_integer(object)) {
        PyErr_Format(PyExc_TypeError, "byte must be an integer, not %.100s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    Py_ssize_t number = PyNumber_AsSsize_t(object, NULL); /* saturates */
    if (number == -1 && PyErr_Occurred()) {
        gm_name_error("byte", object);
        return -1;
    }
    if (number < 0 || number > 255) {
        gm_raise_about(PyExc_ValueError, "byte is %.80R, expected 0 to 255", object);
        return -1;
    }
    *byte = (int)number;
    return 0;
}

static PyObject *array_fill_bytes(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"byte", "stream", NULL};
    gm_device_array *self = (gm_device_array *)object;
    PyObject *stream_object = NULL;
    gm_stream stream;
    bool nonblocking;
    PyObject *number;
    int byte;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$O:fill_bytes", names, &number,
                                     &stream_object) ||
        parse_byte(number, &byte) < 0 ||
        gm_device_array_queue(self, stream_object, &stream, &nonblocking) < 0) {
        return NULL;
    }
    if (!PyArray_IS_C_CONTIGUOUS(self->layout)) {
        PyErr_SetString(PyExc_ValueError, "only a C-contiguous array can be filled");
        return NULL;
    }
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = gm_device_array_fill(self, byte, stream, nonblocking);
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        return gm_raise(status);
    }
    Py_RETURN_NONE;
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

static PyObject *array_writeable(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(PyArray_ISWRITEABLE(((gm_device_array *)object)->layout));
}

static PyObject *array_contiguous(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(PyArray_IS_C_CONTIGUOUS(((gm_device_array *)object)->layout));
}

static Py_ssize_t array_length(PyObject *object)
{
    return PyObject_Length((PyObject *)((gm_device_array *)object)->layout);
}

/* By identity, so that arrays can be keys although == raises: dicts and sets compare objects of
 * equal hash only, and no two living arrays have equal hashes. */
static Py_hash_t array_hash(PyObject *object)
{
    return PyBaseObject_Type.tp_hash(object);
}

/* ---- the type ------------------------------------------------------------------------------- */

static PyGetSetDef array_attributes[] = {
    {"shape", array_from_layout, NULL, "Length of each dimension.", "shape"},
    {"strides", array_from_layout, NULL, "Bytes from one element to the next.", "strides"},
    {"dtype", array_from_layout, NULL, "The elements' NumPy dtype.", "dtype"},
    {"ndim", array_from_layout, NULL, "Number of dimensions.", "ndim"},
    {"size", array_from_layout, NULL, "Number of elements.", "size"},
    {"nbytes", array_from_layout, NULL, "Bytes of all elements.", "nbytes"},
    {"itemsize", array_from_layout, NULL, "Bytes of one element.", "itemsize"},
    {"T", gm_device_transposed, NULL, "A view with the dimensions reversed.", NULL},
    {"mT", gm_device_transposed_matrices, NULL, "A view with the last two dimensions exchanged.",
     NULL},
    {"backend", array_backend, NULL, "\"cuda\" or \"sim\".", NULL},
    {"device", array_device, NULL, "Number of the device within its backend.", NULL},
    {"pointer", array_pointer, NULL, "Address of the first element in device memory.", NULL},
    {"writeable", array_writeable, NULL,
     "May it be written to? Not if another library lent it as read-only.", NULL},
    {"contiguous", array_contiguous, NULL, "Is the array in C order without gaps?", NULL},
    {"flags", gm_device_flags, NULL,
     "Layout and access, by NumPy's names: ``d.flags.f_contiguous``, ``d.flags['WRITEABLE']``.\n"
     "They cannot be set.",
     NULL},
    {"__cuda_array_interface__", gm_interface_export, NULL,
     "For other libraries, version 3; arrays of the simulator have none. Reading it waits for\n"
     "pending work, because not every library looks at its stream. DLPack does not wait.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef array_methods[] = {
    {"to_host", (PyCFunction)(void (*)(void))array_to_host, METH_VARARGS | METH_KEYWORDS,
     "to_host($self, out=None, *, stream=None)\n--\n\n"
     "Copy to a NumPy array.\n\n"
     "Parameters\n----------\n"
     "out : ndarray, optional\n"
     "    The target: of the same shape and dtype, writeable, of any layout in which no two\n"
     "    elements share memory.\n"
     "stream : Stream or another library's, optional\n"
     "    The copy runs after the work on this stream.\n\n"
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
     "    The number of the target device. A copy to another device is complete on return: it is\n"
     "    direct if the devices can reach each other, else it goes through the host.\n"
     "stream : Stream or another library's, optional\n"
     "    The stream that the copy runs on, of the array's device; the default stream if None.\n\n"
     "Returns\n-------\nDeviceArray"
     "\n\nExamples\n--------\n"
     ">>> import numpy as np, gpumem as gm\n"
     ">>> d = gm.to_device(np.arange(4), backend='sim')\n"
     ">>> d[::2].copy().contiguous\n"
     "True"},
    {"__dlpack__", (PyCFunction)(void (*)(void))gm_dlpack_export, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "Lend the memory to another library, as in the Python array API standard; see "
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
    .mp_subscript = gm_device_view_index,
    .mp_ass_subscript = gm_device_assign,
};

static const char DOC[] =
    "DeviceArray(shape, dtype='float32', *, device=None, backend=None)\n--\n\n"
    "An array in the memory of a backend: a GPU's, or the simulator's.\n\n"
    "Parameters\n----------\n"
    "shape : int or sequence of int\n"
    "dtype : data-type, optional\n"
    "    Any dtype of plain bytes in native order.\n"
    "device : int, optional\n"
    "    Its number; by default, the thread's current device, as another library set\n"
    "    it. gpumem does not change it.\n"
    "backend : {'cuda', 'sim', 'auto'}, optional\n\n"
    "Notes\n-----\n"
    "The memory is not initialised. Slices, `reshape`, `view` and `T` are views of it.\n"
    "``d[index] = value`` takes a scalar, a host array that casts safely, or an array of the same\n"
    "dtype and device, and broadcasts it: one kernel, whatever the two layouts.\n"
    "Operations that need the elements on the host raise a TypeError: comparing (``==``\n"
    "too), `bool`, `float`, arithmetic, iterating, and NumPy's functions. The hash is by "
    "identity.\n"
    "`repr` waits for pending work and copies up to 64 elements to the host; of larger arrays it\n"
    "shows the first and the last three in C order.\n"
    "Other libraries use it in place, through DLPack or `__cuda_array_interface__`."
    "\n\nExamples\n--------\n"
    ">>> import gpumem as gm\n"
    ">>> d = gm.DeviceArray((2, 3), backend='sim')\n"
    ">>> d.shape, d.nbytes\n"
    "((2, 3), 24)\n"
    ">>> d[:, 1:].T.shape\n"
    "(2, 2)";

/* Before the type is ready: it then keeps what its dict has. */
static int add_methods(PyTypeObject *type, PyMethodDef *methods)
{
    for (PyMethodDef *method = methods; method->ml_name; method++) {
        PyObject *descriptor = PyDescr_NewMethod(type, method);
        int failed =
            descriptor ? PyDict_SetItemString(type->tp_dict, method->ml_name, descriptor) : -1;
        Py_XDECREF(descriptor);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

int gm_device_type_init(void)
{
    PyTypeObject *type = &gm_device_array_type;
    type->tp_doc = DOC;
    type->tp_new = array_new;
    type->tp_repr = gm_device_array_repr;
    type->tp_hash = array_hash;
    type->tp_getattro = gm_find_or_advise;
    type->tp_richcompare = gm_refuse_compare;
    type->tp_iter = gm_refuse_iter;
    type->tp_as_number = &gm_refused_numbers;
    type->tp_as_sequence = &gm_refused_sequence;
    type->tp_as_mapping = &array_mapping;
    type->tp_getset = array_attributes;
    type->tp_methods = array_methods;
    /* Before others see the type: a type that is ready is not to be changed. */
    type->tp_dict = PyDict_New();
    /* Descriptors refer to the type, and the garbage collector asks for the type of that. */
    Py_SET_TYPE((PyObject *)type, &PyType_Type);
    return type->tp_dict && gm_dlpack_table_init(type) == 0 &&
                   add_methods(type, gm_device_view_methods) == 0 &&
                   add_methods(type, gm_device_astype_methods) == 0 &&
                   add_methods(type, gm_device_element_methods) == 0
               ? PyType_Ready(type)
               : -1;
}
