/* Elements of device arrays as Python's numbers, copies for Python's copy, and pickling. */
#include "python/device_elements.h"

#include "python/device_array.h"
#include "python/device_views.h"
#include "python/errors.h"
#include "python/values.h"

/* ---- as Python's numbers -------------------------------------------------------------------- */

/* The number of an element along an axis, or in C order for axis -1; -1 with an exception. */
static npy_intp find_place(PyObject *object, npy_intp length, int axis)
{
    if (!gm_is_integer(object)) {
        PyErr_Format(PyExc_TypeError, "item() takes integers, not %.100s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    npy_intp place = PyNumber_AsSsize_t(object, PyExc_IndexError);
    if (place == -1 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_IndexError)) {
            gm_raise_about(PyExc_IndexError, "index %.80R does not fit in 63 bits", object);
        }
        return -1;
    }
    if (place < -length || place >= length) {
        if (axis < 0) {
            PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for size %zd", place,
                         length);
        } else {
            PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for axis %d with size %zd",
                         place, axis, length);
        }
        return -1;
    }
    return place < 0 ? place + length : place;
}

/* The number, in C order, of the element that item() is asked for; -1 with an exception. */
static npy_intp find_element(PyArrayObject *layout, PyObject *indices)
{
    Py_ssize_t count = PyTuple_GET_SIZE(indices), ndim = PyArray_NDIM(layout);
    npy_intp size = PyArray_SIZE(layout), found = 0;
    if (count == 0 && size == 1) {
        return 0;
    }
    if (count == 1 && ndim != 1) {
        return find_place(PyTuple_GET_ITEM(indices, 0), size, -1);
    }
    if (count == 0 || count != ndim) {
        PyErr_Format(PyExc_ValueError,
                     "item() of an array of %zd element%s takes one index, or one for each of its "
                     "%zd dimension%s, not %zd",
                     size, GM_PLURAL(size), ndim, GM_PLURAL(ndim), count);
        return -1;
    }
    for (int d = 0; d < ndim; d++) {
        npy_intp length = PyArray_DIM(layout, d);
        npy_intp place = find_place(PyTuple_GET_ITEM(indices, d), length, d);
        if (place < 0) {
            return -1;
        }
        found = found * length + place;
    }
    return found;
}

/* What a method of ndarray returns for a copy on the host. */
static PyObject *ask_host(gm_device_array *array, const char *method)
{
    PyObject *host = gm_device_array_to_host(array, NULL, NULL);
    PyObject *answer = host ? PyObject_CallMethod(host, method, NULL) : NULL;
    Py_XDECREF(host);
    return answer;
}

static PyObject *array_item(PyObject *object, PyObject *args)
{
    gm_device_array *self = (gm_device_array *)object;
    bool is_packed = PyTuple_GET_SIZE(args) == 1 && PyTuple_Check(PyTuple_GET_ITEM(args, 0));
    npy_intp index = find_element(self->layout, is_packed ? PyTuple_GET_ITEM(args, 0) : args);
    PyObject *element = index < 0 ? NULL : gm_device_element(self, index);
    PyObject *value = element ? ask_host((gm_device_array *)element, "item") : NULL;
    Py_XDECREF(element);
    return value;
}

static PyObject *array_tolist(PyObject *object, PyObject *unused)
{
    (void)unused;
    return ask_host((gm_device_array *)object, "tolist");
}

/* ---- copies for Python's modules ------------------------------------------------------------ */

/* Of __copy__ and __deepcopy__, whose memo the module copy keeps itself. */
static PyObject *array_clone(PyObject *object, PyObject *unused)
{
    (void)unused;
    return gm_device_array_clone((gm_device_array *)object);
}

/* to_device(host array, backend=...), by functools.partial: pickle has no keywords for functions.
 */
static PyObject *array_reduce(PyObject *object, PyObject *unused)
{
    (void)unused;
    gm_device_array *self = (gm_device_array *)object;
    PyObject *core = PyImport_ImportModule("gpumem._core");
    PyObject *functools = core ? PyImport_ImportModule("functools") : NULL;
    PyObject *partial = functools ? PyObject_GetAttrString(functools, "partial") : NULL;
    PyObject *args =
        partial ? Py_BuildValue("(N)", PyObject_GetAttrString(core, "to_device")) : NULL;
    PyObject *keywords =
        args ? Py_BuildValue("{s:s}", "backend", self->memory->backend->name) : NULL;
    PyObject *call = keywords ? PyObject_Call(partial, args, keywords) : NULL;
    PyObject *host = call ? gm_device_array_to_host(self, NULL, NULL) : NULL;
    PyObject *reduced = host ? Py_BuildValue("O(O)", call, host) : NULL;
    Py_XDECREF(core);
    Py_XDECREF(functools);
    Py_XDECREF(partial);
    Py_XDECREF(args);
    Py_XDECREF(keywords);
    Py_XDECREF(call);
    Py_XDECREF(host);
    return reduced;
}

PyMethodDef gm_device_element_methods[] = {
    {"item", array_item, METH_VARARGS,
     "item($self, *index)\n--\n\n"
     "Return one element as a Python object, such as an int or a float.\n\n"
     "It alone crosses the bus, and the call waits for it.\n\n"
     "Parameters\n----------\n"
     "*index : ints, or one tuple of ints, optional\n"
     "    One for each dimension, or one alone: the number of the element in C order. An array of\n"
     "    one element needs none."
     "\n\nExamples\n--------\n"
     ">>> import numpy as np, gpumem as gm\n"
     ">>> d = gm.to_device(np.arange(6).reshape(2, 3), backend='sim')\n"
     ">>> d.item(1, 2), d.item(4), d[0, 1].item()\n"
     "(5, 4, 1)"},
    {"tolist", array_tolist, METH_NOARGS,
     "tolist($self, /)\n--\n\n"
     "Copy to the host, and return the elements as nested lists of Python objects."
     "\n\nExamples\n--------\n"
     ">>> import numpy as np, gpumem as gm\n"
     ">>> gm.to_device(np.eye(2), backend='sim').tolist()\n"
     "[[1.0, 0.0], [0.0, 1.0]]"},
    {"__copy__", array_clone, METH_NOARGS,
     "__copy__($self, /)\n--\n\nAs `copy`: on the same device, C-contiguous."},
    {"__deepcopy__", array_clone, METH_O,
     "__deepcopy__($self, memo, /)\n--\n\nAs `copy`: on the same device, C-contiguous."},
    {"__reduce__", array_reduce, METH_NOARGS,
     "__reduce__($self, /)\n--\n\n"
     "For pickle, through the host. Unpickling copies to the current device of the same backend;\n"
     "the array is then C-contiguous and writeable."},
    {NULL, NULL, 0, NULL},
};
