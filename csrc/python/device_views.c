/* Views of device arrays. NumPy does the arithmetic, on the layout. */
#include "python/device_views.h"

#include "python/arrays.h"
#include "python/device_array.h"
#include "python/errors.h"
#include "python/streams.h"
#include "python/values.h"

/* ---- by an index ---------------------------------------------------------------------------- */

static bool is_basic_index(PyObject *index)
{
    return index == Py_None || index == Py_Ellipsis || PySlice_Check(index) ||
           (PyLong_Check(index) && !PyBool_Check(index)) || PyArray_IsScalar(index, Integer);
}

/* A tuple of the index's items, which are integers, slices, ... and None, that ends with an
 * ellipsis unless it has one: with an ellipsis NumPy returns a view even if all dimensions are
 * indexed. */
static PyObject *basic_index(PyObject *index)
{
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
    if (has_ellipsis) {
        return items;
    }
    PyObject *full = PyTuple_New(count + 1);
    for (Py_ssize_t i = 0; full && i < count; i++) {
        PyTuple_SET_ITEM(full, i, Py_NewRef(PyTuple_GET_ITEM(items, i)));
    }
    if (full) {
        PyTuple_SET_ITEM(full, count, Py_NewRef(Py_Ellipsis));
    }
    Py_DECREF(items);
    return full;
}

/* NumPy indexes the layout; any other kind of index would make it read the elements. */
PyObject *gm_device_view_index(PyObject *object, PyObject *index)
{
    gm_device_array *self = (gm_device_array *)object;
    bool is_field = PyUnicode_Check(index); /* of a structured dtype */
    PyObject *full = is_field ? Py_NewRef(index) : basic_index(index);
    if (!full) {
        return NULL;
    }
    PyObject *layout = PyObject_GetItem((PyObject *)self->layout, full);
    Py_DECREF(full);
    if (!layout && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        gm_raise_about(PyExc_IndexError, "index %.80R does not fit in 63 bits", index);
    }
    return gm_device_array_view(self, layout);
}

PyObject *gm_device_element(gm_device_array *array, npy_intp index)
{
    PyArrayObject *layout = array->layout;
    char *at = PyArray_BYTES(layout);
    for (int d = PyArray_NDIM(layout) - 1; d >= 0; d--) {
        at += index % PyArray_DIM(layout, d) * PyArray_STRIDE(layout, d);
        index /= PyArray_DIM(layout, d);
    }
    PyArray_Descr *dtype = PyArray_DESCR(layout);
    Py_INCREF(dtype);
    return gm_device_array_view(
        array, PyArray_NewFromDescr(&PyArray_Type, dtype, 0, NULL, NULL, at,
                                    PyArray_FLAGS(layout) & NPY_ARRAY_WRITEABLE, NULL));
}

/* ---- other shapes --------------------------------------------------------------------------- */

PyObject *gm_device_transposed(PyObject *object, void *unused)
{
    (void)unused;
    gm_device_array *self = (gm_device_array *)object;
    return gm_device_array_view(self, PyArray_Transpose(self->layout, NULL));
}

PyObject *gm_device_transposed_matrices(PyObject *object, void *unused)
{
    (void)unused;
    gm_device_array *self = (gm_device_array *)object;
    int ndim = PyArray_NDIM(self->layout);
    if (ndim < 2) {
        return PyErr_Format(PyExc_ValueError,
                            "the array has %d dimension%s, and mT needs matrices: 2 or more", ndim,
                            ndim == 1 ? "" : "s");
    }
    return gm_device_array_view(self, PyArray_SwapAxes(self->layout, ndim - 2, ndim - 1));
}

/* A view by a method of ndarray that never copies and never reads; errors are about `argument`. */
static PyObject *view_by(gm_device_array *self, const char *name, const char *argument,
                         PyObject *args, PyObject *keywords)
{
    PyObject *method = PyObject_GetAttrString((PyObject *)self->layout, name);
    PyObject *layout = method ? PyObject_Call(method, args, keywords) : NULL;
    Py_XDECREF(method);
    if (!layout) {
        gm_name_error(argument, PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : args);
    }
    return gm_device_array_view(self, layout);
}

/* 1 for Fortran's order, 0 for C's, -1 with an exception. */
static int is_fortran(const gm_device_array *self, NPY_ORDER order)
{
    PyArrayObject *layout = self->layout;
    if (order == NPY_KEEPORDER) {
        PyErr_SetString(PyExc_ValueError, "order is 'K', expected 'C', 'F' or 'A'");
        return -1;
    }
    if (order == NPY_ANYORDER) {
        return PyArray_IS_F_CONTIGUOUS(layout) && !PyArray_IS_C_CONTIGUOUS(layout);
    }
    return order == NPY_FORTRANORDER;
}

/* The keyword `order`, the only one. */
static int parse_order(PyObject *keywords, const char *format, NPY_ORDER *order)
{
    static char *names[] = {"order", NULL};
    PyObject *none = PyTuple_New(0);
    int parsed = none && PyArg_ParseTupleAndKeywords(none, keywords, format, names,
                                                     gm_order_converter, order);
    Py_XDECREF(none);
    return parsed ? 0 : -1;
}

static PyObject *array_reshape(PyObject *object, PyObject *args, PyObject *keywords)
{
    gm_device_array *self = (gm_device_array *)object;
    NPY_ORDER order = NPY_CORDER;
    if (keywords && parse_order(keywords, "|$O&:reshape", &order) < 0) {
        return NULL;
    }
    int fortran = is_fortran(self, order);
    if (fortran < 0) {
        return NULL;
    }
    if (!fortran && !PyArray_IS_C_CONTIGUOUS(self->layout)) {
        PyErr_SetString(PyExc_ValueError,
                        "only a C-contiguous array can be reshaped; copy() makes one");
        return NULL;
    }
    if (fortran && !PyArray_IS_F_CONTIGUOUS(self->layout)) {
        PyErr_SetString(PyExc_ValueError, "only a Fortran-contiguous array can be reshaped in "
                                          "order 'F'; T.copy().T makes one");
        return NULL;
    }
    PyObject *numpys = Py_BuildValue("{s:s}", "order", fortran ? "F" : "C");
    PyObject *view = numpys ? view_by(self, "reshape", "shape", args, numpys) : NULL;
    Py_XDECREF(numpys);
    return view;
}

static PyObject *array_squeeze(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"axis", NULL};
    PyObject *axis = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O:squeeze", names, &axis)) {
        return NULL;
    }
    PyObject *axes = PyTuple_Pack(1, axis);
    PyObject *view =
        axes ? view_by((gm_device_array *)object, "squeeze", "axis", axes, NULL) : NULL;
    Py_XDECREF(axes);
    return view;
}

static PyObject *array_transpose(PyObject *object, PyObject *args, PyObject *keywords)
{
    return view_by((gm_device_array *)object, "transpose", "axes", args, keywords);
}

static PyObject *array_swapaxes(PyObject *object, PyObject *args, PyObject *keywords)
{
    return view_by((gm_device_array *)object, "swapaxes", "(axis1, axis2)", args, keywords);
}

static PyObject *array_view(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"dtype", NULL};
    gm_device_array *self = (gm_device_array *)object;
    PyObject *dtype_object = Py_None;
    PyArray_Descr *dtype = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O:view", names, &dtype_object) ||
        (dtype_object != Py_None && !gm_dtype_converter(dtype_object, &dtype))) {
        return NULL;
    }
    if (dtype && gm_check_dtype(dtype, "dtype") < 0) {
        Py_DECREF(dtype);
        return NULL;
    }
    return gm_device_array_view(self, PyArray_View(self->layout, dtype, NULL));
}

/* ---- one dimension -------------------------------------------------------------------------- */

PyObject *gm_device_array_clone(gm_device_array *array)
{
    gm_stream stream;
    bool nonblocking;
    if (gm_device_array_queue(array, NULL, &stream, &nonblocking) < 0) {
        return NULL;
    }
    return (PyObject *)gm_device_array_copy(array, stream, nonblocking);
}

/* All elements in an order: a view where that is possible, unless a copy is asked for. */
static PyObject *flat(gm_device_array *self, NPY_ORDER order, bool copies)
{
    int fortran = is_fortran(self, order);
    if (fortran < 0) {
        return NULL;
    }
    PyObject *way =
        fortran ? gm_device_transposed((PyObject *)self, NULL) : Py_NewRef((PyObject *)self);
    if (way && (copies || !PyArray_IS_C_CONTIGUOUS(((gm_device_array *)way)->layout))) {
        Py_SETREF(way, gm_device_array_clone((gm_device_array *)way));
    }
    if (!way) {
        return NULL;
    }
    PyArrayObject *layout = ((gm_device_array *)way)->layout;
    npy_intp size = PyArray_SIZE(layout);
    PyArray_Dims shape = {&size, 1};
    PyObject *view =
        gm_device_array_view((gm_device_array *)way, PyArray_Newshape(layout, &shape, NPY_CORDER));
    Py_DECREF(way);
    return view;
}

static PyObject *array_ravel(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"order", NULL};
    NPY_ORDER order = NPY_CORDER;
    return PyArg_ParseTupleAndKeywords(args, keywords, "|O&:ravel", names, gm_order_converter,
                                       &order)
               ? flat((gm_device_array *)object, order, false)
               : NULL;
}

static PyObject *array_flatten(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"order", NULL};
    NPY_ORDER order = NPY_CORDER;
    return PyArg_ParseTupleAndKeywords(args, keywords, "|O&:flatten", names, gm_order_converter,
                                       &order)
               ? flat((gm_device_array *)object, order, true)
               : NULL;
}

/* ---- their descriptions --------------------------------------------------------------------- */

#define KEYWORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

PyMethodDef gm_device_view_methods[] = {
    {"reshape", KEYWORDS(array_reshape),
     "reshape($self, *shape, order='C')\n--\n\n"
     "A view of a contiguous array with another shape.\n\n"
     "Parameters\n----------\n"
     "*shape : ints, or one sequence of ints\n"
     "    One of them may be -1: as many as are left.\n"
     "order : {'C', 'F', 'A'}, optional\n"
     "    Which index changes fastest, of the array and of the view: the last or, for 'F', the\n"
     "    first. The array has to be contiguous in this order. 'A' is the order that it has."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> gm.DeviceArray(6, backend='sim').reshape(2, 3).shape\n"
     "(2, 3)"},
    {"ravel", KEYWORDS(array_ravel),
     "ravel($self, order='C')\n--\n\n"
     "The elements as one dimension: a view if the array is contiguous in this order, else a "
     "copy.\n\n"
     "Parameters\n----------\n"
     "order : {'C', 'F', 'A'}, optional\n"
     "    As of `reshape`."
     "\n\nExamples\n--------\n"
     ">>> import numpy as np, gpumem as gm\n"
     ">>> d = gm.to_device(np.arange(6).reshape(2, 3), backend='sim')\n"
     ">>> d.ravel().pointer == d.pointer, d.T.ravel().tolist()\n"
     "(True, [0, 3, 1, 4, 2, 5])"},
    {"flatten", KEYWORDS(array_flatten),
     "flatten($self, order='C')\n--\n\n"
     "As `ravel`, always a copy."
     "\n\nExamples\n--------\n"
     ">>> import numpy as np, gpumem as gm\n"
     ">>> d = gm.to_device(np.arange(6).reshape(2, 3), backend='sim')\n"
     ">>> d.flatten(order='F').tolist()\n"
     "[0, 3, 1, 4, 2, 5]"},
    {"squeeze", KEYWORDS(array_squeeze),
     "squeeze($self, axis=None)\n--\n\n"
     "A view without the dimensions of length 1: all, or those named."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> gm.DeviceArray((1, 3, 1), backend='sim').squeeze(axis=0).shape\n"
     "(3, 1)"},
    {"transpose", KEYWORDS(array_transpose),
     "transpose($self, *axes)\n--\n\n"
     "A view with the dimensions in another order, by default reversed; gpumem.permute copies."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> gm.DeviceArray((2, 3, 4), backend='sim').transpose(1, 2, 0).shape\n"
     "(3, 4, 2)"},
    {"swapaxes", KEYWORDS(array_swapaxes),
     "swapaxes($self, axis1, axis2, /)\n--\n\n"
     "A view with two dimensions exchanged."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> gm.DeviceArray((2, 3, 4), backend='sim').swapaxes(0, -1).shape\n"
     "(4, 3, 2)"},
    {"view", KEYWORDS(array_view),
     "view($self, dtype=None)\n--\n\n"
     "The same bytes as another dtype, by NumPy's rules; by default, as the same."
     "\n\nExamples\n--------\n"
     ">>> import gpumem as gm\n"
     ">>> gm.DeviceArray(6, 'float32', backend='sim').view('float64').shape\n"
     "(3,)"},
    {NULL, NULL, 0, NULL},
};
