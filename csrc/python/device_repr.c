/* repr of device arrays: where they are, and a few of their numbers. */
#include "python/device_repr.h"

#include <string.h>

#include "python/device_array.h"
#include "python/device_views.h"

enum {
    MOST = 64,        /* elements that are shown without leaving any out */
    EDGE = 3,         /* otherwise, the first and the last ones in C order */
    MOST_BYTES = 256, /* of an element that is shown */
};

/* A host array of one dimension with the elements at both ends, and one more between them, which
 * NumPy leaves out. */
static PyObject *bring_edges(gm_device_array *self)
{
    npy_intp count = 2 * EDGE + 1, size = PyArray_SIZE(self->layout);
    PyArray_Descr *dtype = PyArray_DESCR(self->layout);
    Py_INCREF(dtype);
    PyArrayObject *edges = (PyArrayObject *)PyArray_Zeros(1, &count, dtype, 0);
    for (int i = 0; edges && i < count; i++) {
        if (i == EDGE) {
            continue;
        }
        PyObject *element = gm_device_element(self, i < EDGE ? i : size - count + i);
        PyObject *host =
            element ? gm_device_array_to_host((gm_device_array *)element, NULL, NULL) : NULL;
        if (host) {
            memcpy(PyArray_GETPTR1(edges, i), PyArray_DATA((PyArrayObject *)host),
                   (size_t)PyArray_ITEMSIZE(edges));
        } else {
            Py_CLEAR(edges);
        }
        Py_XDECREF(element);
        Py_XDECREF(host);
    }
    return (PyObject *)edges;
}

/* The numbers as NumPy writes them. */
static PyObject *write_numbers(gm_device_array *self)
{
    bool whole = PyArray_SIZE(self->layout) <= MOST;
    PyObject *host = whole ? gm_device_array_to_host(self, NULL, NULL) : bring_edges(self);
    PyObject *args = host ? PyTuple_Pack(1, host) : NULL;
    PyObject *options =
        args ? Py_BuildValue("{s:s,s:s,s:i,s:i}", "separator", ", ", "prefix", "DeviceArray(",
                             "threshold", whole ? MOST : 2 * EDGE, "edgeitems", EDGE)
             : NULL;
    PyObject *numpy = options ? PyImport_ImportModule("numpy") : NULL;
    PyObject *write = numpy ? PyObject_GetAttrString(numpy, "array2string") : NULL;
    PyObject *text = write ? PyObject_Call(write, args, options) : NULL;
    Py_XDECREF(host);
    Py_XDECREF(args);
    Py_XDECREF(options);
    Py_XDECREF(numpy);
    Py_XDECREF(write);
    return text;
}

PyObject *gm_device_array_repr(PyObject *object)
{
    gm_device_array *self = (gm_device_array *)object;
    PyObject *numbers = PyArray_ITEMSIZE(self->layout) <= MOST_BYTES ? write_numbers(self) : NULL;
    if (PyErr_Occurred()) {
        /* Such as after the device was lost. Not Ctrl-C. */
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return NULL;
        }
        PyErr_Clear();
    }
    PyObject *shape = PyObject_GetAttrString((PyObject *)self->layout, "shape");
    PyObject *start = numbers ? PyUnicode_FromFormat("%U, ", numbers) : PyUnicode_FromString("");
    PyObject *text = NULL;
    if (shape && start) {
        text = PyUnicode_FromFormat("DeviceArray(%Ushape=%R, dtype='%S', backend='%s', device=%d)",
                                    start, shape, PyArray_DESCR(self->layout),
                                    self->memory->backend->name, self->memory->device);
    }
    Py_XDECREF(numbers);
    Py_XDECREF(shape);
    Py_XDECREF(start);
    return text;
}
