/* Works on ndarrays; knows nothing of where they came from. */
#include "python/arrays.h"

#include <string.h>

static PyObject *shares_memory; /* numpy.shares_memory */

int gm_arrays_init(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    shares_memory = numpy ? PyObject_GetAttrString(numpy, "shares_memory") : NULL;
    Py_XDECREF(numpy);
    return shares_memory ? 0 : -1;
}

/* ---- checks ------------------------------------------------------------------------------- */

/* No references and no variable-width strings: bytes that mean the same in other memory. */
static bool holds_plain_bytes(PyArray_Descr *dtype)
{
    if (PyDataType_REFCHK(dtype)) {
        return false;
    }
    int number = dtype->type_num;
    return number >= 0 && number < NPY_VSTRING;
}

int gm_check_sized(PyArray_Descr *dtype, const char *name)
{
    if (PyDataType_ELSIZE(dtype) > 0 || (dtype->kind != 'S' && dtype->kind != 'U')) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError,
                 "%s has dtype %R, strings of length 0, which NumPy turns into strings of "
                 "length 1; accepted are lengths from 1",
                 name, dtype);
    return -1;
}

int gm_check_dtype(PyArray_Descr *dtype, const char *name)
{
    if (gm_check_sized(dtype, name) < 0) {
        return -1;
    }
    if (!holds_plain_bytes(dtype)) {
        PyErr_Format(
            PyExc_TypeError,
            "%s has dtype %.200R, whose elements refer to Python's memory; accepted are dtypes "
            "of plain bytes (bool, integers, floats, complex, datetimes, fixed-width "
            "strings, and structures of these)",
            name, dtype);
        return -1;
    }
    int native = PyArray_ISNBO(dtype->byteorder);
    if (native && PyDataType_HASFIELDS(dtype)) {
        PyObject *value = PyObject_GetAttrString((PyObject *)dtype, "isnative");
        native = value ? PyObject_IsTrue(value) : -1;
        Py_XDECREF(value);
        if (native < 0) {
            return -1;
        }
    }
    if (!native) {
        PyErr_Format(PyExc_TypeError,
                     "%s has dtype %.200R, which is byte-swapped; accepted is native byte order "
                     "(a.astype(a.dtype.newbyteorder('=')) converts)",
                     name, dtype);
        return -1;
    }
    return 0;
}

PyArray_Descr *gm_plain_dtype(char kind, int bytes)
{
    static const struct {
        char kind;
        int bytes, number;
    } known[] = {
        {'f', 4, NPY_FLOAT32},   {'f', 8, NPY_FLOAT64},     {'f', 2, NPY_FLOAT16},
        {'i', 4, NPY_INT32},     {'i', 8, NPY_INT64},       {'i', 2, NPY_INT16},
        {'i', 1, NPY_INT8},      {'u', 1, NPY_UINT8},       {'u', 2, NPY_UINT16},
        {'u', 4, NPY_UINT32},    {'u', 8, NPY_UINT64},      {'b', 1, NPY_BOOL},
        {'c', 8, NPY_COMPLEX64}, {'c', 16, NPY_COMPLEX128},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].kind == kind && known[i].bytes == bytes) {
            return PyArray_DescrFromType(known[i].number);
        }
    }
    return NULL;
}

/* 1 for a numpy.ma.MaskedArray, 0 for all else, -1 with an exception. */
static int is_masked(PyObject *object)
{
    if (!PyArray_Check(object) || PyArray_CheckExact(object)) {
        return 0;
    }
    /* NumPy imports this module late; whoever made a masked array has imported it. */
    PyObject *name = PyUnicode_FromString("numpy.ma");
    PyObject *module = name ? PyImport_GetModule(name) : NULL;
    PyObject *type = module ? PyObject_GetAttrString(module, "MaskedArray") : NULL;
    int answer = type ? PyObject_IsInstance(object, type) : PyErr_Occurred() ? -1 : 0;
    Py_XDECREF(type);
    Py_XDECREF(module);
    Py_XDECREF(name);
    return answer;
}

int gm_check_unmasked(PyObject *object, const char *name)
{
    int masked = is_masked(object);
    if (masked > 0) {
        PyErr_Format(PyExc_TypeError,
                     "%s is a masked array, accepted are arrays without a mask: %s.data is the "
                     "array under it, %s.filled(value) a copy with the masked elements replaced",
                     name, name, name);
    }
    return masked ? -1 : 0;
}

static PyObject *shape_tuple(int ndim, const int64_t *shape)
{
    PyObject *tuple = PyTuple_New(ndim);
    for (int d = 0; tuple && d < ndim; d++) {
        PyObject *length = PyLong_FromLongLong(shape[d]);
        if (!length) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, d, length);
    }
    return tuple;
}

int gm_check_out(PyArrayObject *out, PyArray_Descr *dtype, int ndim, const int64_t *shape)
{
    if (PyArray_DESCR(out) != dtype && !PyArray_EquivTypes(PyArray_DESCR(out), dtype)) {
        PyErr_Format(PyExc_TypeError, "out has dtype %.200R, expected %.200R", PyArray_DESCR(out),
                     dtype);
        return -1;
    }
    bool same = PyArray_NDIM(out) == ndim;
    for (int d = 0; same && d < ndim; d++) {
        same = PyArray_DIM(out, d) == shape[d];
    }
    if (!same) {
        PyObject *expected = shape_tuple(ndim, shape);
        PyObject *given = PyObject_GetAttrString((PyObject *)out, "shape");
        if (expected && given) {
            PyErr_Format(PyExc_ValueError, "out has shape %.200R, expected %.200R", given,
                         expected);
        }
        Py_XDECREF(expected);
        Py_XDECREF(given);
        return -1;
    }
    return 0;
}

int gm_count_bytes(PyArray_Descr *dtype, int ndim, const npy_intp *shape, int64_t *bytes)
{
    /* The number of elements has to fit, too, even if they have no bytes. */
    *bytes = PyDataType_ELSIZE(dtype) > 0 ? PyDataType_ELSIZE(dtype) : 1;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] < 0) {
            PyErr_Format(PyExc_ValueError, "shape has the negative dimension %zd", shape[d]);
            return -1;
        }
        if (!gm_multiply(*bytes, shape[d], bytes)) {
            PyErr_SetString(PyExc_ValueError,
                            "shape is too large: its byte count does not fit in 63 bits");
            return -1;
        }
    }
    return 0;
}

/* The first byte and one past the last; false for an array without elements. */
static bool extent(PyArrayObject *array, uintptr_t *begin, uintptr_t *end)
{
    *begin = (uintptr_t)PyArray_BYTES(array);
    *end = *begin + (uintptr_t)PyArray_ITEMSIZE(array);
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        npy_intp count = PyArray_DIM(array, d);
        if (count == 0) {
            return false;
        }
        npy_intp reach = (count - 1) * PyArray_STRIDE(array, d);
        if (reach < 0) {
            *begin += (uintptr_t)reach;
        } else {
            *end += (uintptr_t)reach;
        }
    }
    return PyArray_ITEMSIZE(array) > 0;
}

int gm_overlaps(PyArrayObject *a, PyArrayObject *b)
{
    uintptr_t a_begin, a_end, b_begin, b_end;
    if (!extent(a, &a_begin, &a_end) || !extent(b, &b_begin, &b_end) || a_end <= b_begin ||
        b_end <= a_begin) {
        return 0;
    }
    if (PyArray_IS_C_CONTIGUOUS(a) && PyArray_IS_C_CONTIGUOUS(b)) {
        return 1;
    }
    /* Interleaved views need not share a byte, but that can be hard to decide: after some work the
     * answer is that they do. */
    PyObject *arrays =
        Py_BuildValue("(NN)", PyArray_View(a, NULL, &PyArray_Type), /* no subclass: */
                      PyArray_View(b, NULL, &PyArray_Type));        /* it may answer otherwise */
    PyObject *limit = Py_BuildValue("{s:i}", "max_work", 100000);
    PyObject *shared = arrays && limit ? PyObject_Call(shares_memory, arrays, limit) : NULL;
    Py_XDECREF(arrays);
    Py_XDECREF(limit);
    if (!shared) {
        if (!PyErr_ExceptionMatches(PyExc_RuntimeError)) { /* TooHardError is one */
            return -1;
        }
        PyErr_Clear();
        return 1;
    }
    int answer = PyObject_IsTrue(shared);
    Py_DECREF(shared);
    return answer;
}

/* Each axis, the smallest stride first, has to step over all that the axes before it reach. */
int gm_check_apart(PyArrayObject *array, const char *name)
{
    npy_intp reach = PyArray_ITEMSIZE(array), stride[NPY_MAXDIMS], extent[NPY_MAXDIMS];
    int count = 0;
    if (PyArray_IS_C_CONTIGUOUS(array) || PyArray_SIZE(array) == 0) {
        return 0;
    }
    for (int d = 0; d < PyArray_NDIM(array); d++) {
        npy_intp here = PyArray_STRIDE(array, d);
        if (PyArray_DIM(array, d) == 1) {
            continue;
        }
        here = here < 0 ? -here : here;
        int at = count++;
        for (; at > 0 && stride[at - 1] > here; at--) {
            stride[at] = stride[at - 1];
            extent[at] = extent[at - 1];
        }
        stride[at] = here;
        extent[at] = PyArray_DIM(array, d);
    }
    for (int d = 0; d < count; d++) {
        if (stride[d] < reach) {
            PyErr_Format(PyExc_ValueError,
                         "elements of %s share memory; copy() makes an array in which they do not",
                         name);
            return -1;
        }
        reach += (extent[d] - 1) * stride[d];
    }
    return 0;
}

/* ---- copies and descriptions -------------------------------------------------------------- */

/* The array with elements of opaque bytes: NumPy does not copy the padding of structures. */
static PyArrayObject *opaque(PyArrayObject *array)
{
    if (!PyDataType_HASFIELDS(PyArray_DESCR(array))) {
        return (PyArrayObject *)Py_NewRef(array);
    }
    PyArray_Descr *bytes = PyArray_DescrNewFromType(NPY_VOID);
    if (!bytes) {
        return NULL;
    }
    PyDataType_SET_ELSIZE(bytes, PyArray_ITEMSIZE(array));
    return (PyArrayObject *)PyArray_View(array, bytes, NULL);
}

/* A view of `count` indices of the first axis from `first` on. With a count of 0 it is the one
 * index, without that axis. */
static PyArrayObject *part_of(PyArrayObject *array, npy_intp first, npy_intp count)
{
    int dropped = count == 0, ndim = PyArray_NDIM(array) - dropped;
    npy_intp shape[GM_MAX_DIMS];
    memcpy(shape, PyArray_DIMS(array) + dropped, (size_t)ndim * sizeof *shape);
    if (!dropped) {
        shape[0] = count;
    }
    Py_INCREF(PyArray_DESCR(array));
    PyObject *part = PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DESCR(array), ndim, shape, PyArray_STRIDES(array) + dropped,
        PyArray_BYTES(array) + first * PyArray_STRIDE(array, 0), NPY_ARRAY_WRITEABLE, NULL);
    if (part && PyArray_SetBaseObject((PyArrayObject *)part, Py_NewRef(array)) < 0) { /* steals */
        Py_CLEAR(part);
    }
    return (PyArrayObject *)part;
}

enum { STRETCH = 4 * 1024 * 1024 }; /* bytes copied between two checks for signals */

/* to[...] = from in stretches along the first axis, or within each of its indices. */
static int copy_in_stretches(PyArrayObject *to, PyArrayObject *from)
{
    if (PyArray_NBYTES(to) <= STRETCH || PyArray_NDIM(to) == 0) {
        return PyErr_CheckSignals() < 0 ? -1 : PyArray_CopyInto(to, from);
    }
    npy_intp length = PyArray_DIM(to, 0), row = PyArray_NBYTES(to) / length;
    npy_intp count = row > STRETCH ? 0 : STRETCH / row;
    int failed = 0;
    for (npy_intp first = 0; !failed && first < length; first += count ? count : 1) {
        npy_intp some = count < length - first ? count : length - first;
        PyArrayObject *part_to = part_of(to, first, some);
        PyArrayObject *part_from = part_to ? part_of(from, first, some) : NULL;
        failed = part_from ? copy_in_stretches(part_to, part_from) : -1;
        Py_XDECREF(part_from);
        Py_XDECREF(part_to);
    }
    return failed;
}

PyArrayObject *gm_contiguous(PyArrayObject *array)
{
    if (PyArray_IS_C_CONTIGUOUS(array)) {
        return (PyArrayObject *)Py_NewRef(array);
    }
    PyArrayObject *bytes = opaque(array);
    PyObject *copy = NULL;
    if (bytes) {
        Py_INCREF(PyArray_DESCR(bytes));
        copy = PyArray_Empty(PyArray_NDIM(bytes), PyArray_DIMS(bytes), PyArray_DESCR(bytes), false);
    }
    if (copy && copy_in_stretches((PyArrayObject *)copy, bytes) < 0) {
        Py_CLEAR(copy);
    }
    Py_XDECREF(bytes);
    if (copy && PyDataType_HASFIELDS(PyArray_DESCR(array))) {
        Py_INCREF(PyArray_DESCR(array));
        Py_SETREF(copy, PyArray_View((PyArrayObject *)copy, PyArray_DESCR(array), NULL));
    }
    return (PyArrayObject *)copy;
}

int gm_copy_into(PyArrayObject *to, PyArrayObject *from)
{
    PyArrayObject *bytes_to = opaque(to), *bytes_from = opaque(from);
    int failed = bytes_to && bytes_from ? PyArray_CopyInto(bytes_to, bytes_from) : -1;
    Py_XDECREF(bytes_to);
    Py_XDECREF(bytes_from);
    return failed;
}

void gm_describe(PyArrayObject *array, gm_memory_kind memory, gm_array *described)
{
    described->data = PyArray_BYTES(array);
    described->itemsize = PyArray_ITEMSIZE(array);
    described->size = PyArray_SIZE(array);
    described->bytes = described->size * described->itemsize;
    described->ndim = PyArray_NDIM(array);
    described->contiguous = PyArray_IS_C_CONTIGUOUS(array);
    described->absent = false;
    described->memory = memory;
    described->kind = PyArray_DESCR(array)->kind;
    for (int d = 0; d < described->ndim; d++) {
        described->shape[d] = PyArray_DIM(array, d);
        described->strides[d] = PyArray_STRIDE(array, d);
    }
}
