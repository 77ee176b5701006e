/*
 * array[index] = value. A value of the host goes to the device first, in one transfer. There it is
 * one copy, whatever the two layouts; a value that overlaps the target takes another before it.
 */
#include "python/device_assign.h"

#include "python/adopt.h"
#include "python/arrays.h"
#include "python/device_array.h"
#include "python/device_views.h"
#include "python/devices.h"
#include "python/errors.h"
#include "python/host_array.h"
#include "python/streams.h"

/* ---- the value ------------------------------------------------------------------------------ */

static int refuse_cast(PyObject *from, PyArray_Descr *to)
{
    PyErr_Format(PyExc_TypeError,
                 "value has dtype %.200S, which does not cast safely to %.200S; astype() converts "
                 "an array",
                 from, to);
    return -1;
}

/* Python's numbers have no size: a float fits every floating dtype, an int those and integers. */
static PyArrayObject *from_number(PyObject *value, PyArray_Descr *dtype)
{
    PyArrayObject *made = NULL;
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *common = numpy ? PyObject_CallMethod(numpy, "result_type", "OO", dtype, value) : NULL;
    if (!common && PyErr_ExceptionMatches(PyExc_TypeError)) { /* which is about DTypes alone */
        gm_raise_about(PyExc_TypeError, "value is %.80R, which does not cast safely to %.200S",
                       value, dtype);
    } else if (common && !PyArray_EquivTypes((PyArray_Descr *)common, dtype)) {
        refuse_cast(common, dtype);
    } else if (common) {
        Py_INCREF(dtype);
        made = (PyArrayObject *)PyArray_FromAny(value, dtype, 0, 0, 0, NULL);
        if (!made && PyErr_ExceptionMatches(PyExc_OverflowError)) {
            gm_raise_about(PyExc_OverflowError, "value is %.80R, which does not fit in %.200S",
                           value, dtype);
        }
    }
    Py_XDECREF(common);
    Py_XDECREF(numpy);
    return made;
}

/* An array of the host with this dtype. */
static PyArrayObject *from_host(PyObject *value, PyArray_Descr *dtype)
{
    PyArrayObject *array;
    if (PyArray_IsScalar(value, Generic) || PyBytes_Check(value) || PyUnicode_Check(value)) {
        array = (PyArrayObject *)PyArray_FromAny(value, NULL, 0, 0, 0, NULL);
    } else if (PyArray_IsPythonNumber(value)) {
        array = from_number(value, dtype);
    } else {
        array = gm_host_array(value, "value");
    }
    if (!array || PyArray_EquivTypes(PyArray_DESCR(array), dtype)) {
        return array;
    }
    if (!PyArray_CanCastTypeTo(PyArray_DESCR(array), dtype, NPY_SAFE_CASTING)) {
        refuse_cast((PyObject *)PyArray_DESCR(array), dtype);
        Py_DECREF(array);
        return NULL;
    }
    Py_INCREF(dtype);
    Py_SETREF(array, (PyArrayObject *)PyArray_CastToType(array, dtype, 0));
    return array;
}

static int check_value(const gm_device_array *value, const gm_device_array *to)
{
    const gm_device_memory *from = value->memory, *memory = to->memory;
    if (from->backend != memory->backend) {
        PyErr_Format(PyExc_ValueError, "value is on backend \"%s\", the array is on \"%s\"",
                     from->backend->name, memory->backend->name);
        return -1;
    }
    if (from->device != memory->device) {
        PyErr_Format(PyExc_ValueError,
                     "value is on device %d, the array is on device %d: value.copy(device=%d) "
                     "brings it there",
                     from->device, memory->device, memory->device);
        return -1;
    }
    if (!PyArray_EquivTypes(PyArray_DESCR(value->layout), PyArray_DESCR(to->layout))) {
        PyErr_Format(PyExc_TypeError,
                     "value has dtype %.200R, expected %.200R on the device: value.astype() "
                     "converts it",
                     PyArray_DESCR(value->layout), PyArray_DESCR(to->layout));
        return -1;
    }
    return 0;
}

/* The value on the device, whose number is the current one; a new reference. */
static gm_device_array *take_value(PyObject *value, const gm_device_array *to)
{
    gm_device_array *taken = NULL;
    gm_current_stream current = {.exchange = NULL};
    if (gm_is_device_array(value)) {
        taken = (gm_device_array *)Py_NewRef(value);
    } else if (gm_is_adoptable(value)) {
        taken = gm_adopt(value, "value", Py_None, GM_READ, &current);
    }
    if (!taken && !PyErr_Occurred()) {
        PyArrayObject *host = from_host(value, PyArray_DESCR(to->layout));
        taken =
            host ? gm_device_array_from_host((PyObject *)host, NULL, to->memory->backend) : NULL;
        Py_XDECREF(host);
    }
    if (taken && check_value(taken, to) < 0) {
        Py_CLEAR(taken);
    }
    return taken;
}

/* ---- both layouts --------------------------------------------------------------------------- */

/* The value, broadcast, beside the target: axes of one index are left out. */
typedef struct pairing {
    int ndim;
    npy_intp extent[NPY_MAXDIMS];
    npy_intp to[NPY_MAXDIMS], from[NPY_MAXDIMS]; /* strides */
} pairing;

static int refuse_shape(PyArrayObject *value, PyArrayObject *to)
{
    PyObject *given = PyObject_GetAttrString((PyObject *)value, "shape");
    PyObject *wanted = PyObject_GetAttrString((PyObject *)to, "shape");
    if (given && wanted) {
        PyErr_Format(PyExc_ValueError, "value has shape %R, which does not broadcast to %R", given,
                     wanted);
    }
    Py_XDECREF(given);
    Py_XDECREF(wanted);
    return -1;
}

static int pair(PyArrayObject *value, PyArrayObject *to, pairing *p)
{
    int added = PyArray_NDIM(to) - PyArray_NDIM(value);
    p->ndim = 0;
    for (int d = 0; d < -added; d++) {
        if (PyArray_DIM(value, d) != 1) {
            return refuse_shape(value, to);
        }
    }
    for (int d = 0; d < PyArray_NDIM(to); d++) {
        int v = d - added;
        npy_intp extent = PyArray_DIM(to, d), given = v < 0 ? 1 : PyArray_DIM(value, v);
        if (given != extent && given != 1) {
            return refuse_shape(value, to);
        }
        if (extent != 1) {
            p->extent[p->ndim] = extent;
            p->to[p->ndim] = PyArray_STRIDE(to, d);
            p->from[p->ndim++] = given == 1 ? 0 : PyArray_STRIDE(value, v);
        }
    }
    return gm_check_apart(to, "the array");
}

/* A view of an array's memory with the pairing's axes and these strides. */
static gm_device_array *view_paired(gm_device_array *array, pairing *p, npy_intp *strides)
{
    PyArray_Descr *dtype = PyArray_DESCR(array->layout);
    Py_INCREF(dtype);
    return (gm_device_array *)gm_device_array_view(
        array, PyArray_NewFromDescr(&PyArray_Type, dtype, p->ndim, p->extent, strides,
                                    PyArray_BYTES(array->layout), 0, NULL));
}

/* ---- the copy ------------------------------------------------------------------------------- */

/* to[...] = from, of the same shape. */
static int copy_over(gm_device_array *from, gm_device_array *to)
{
    gm_stream stream;
    bool nonblocking;
    int overlaps = gm_overlaps(from->layout, to->layout);
    if (overlaps < 0 || gm_parse_queue(NULL, to->memory->backend, &stream, &nonblocking) < 0) {
        return -1;
    }
    gm_device_array *apart = overlaps ? gm_device_array_copy(from, stream, nonblocking)
                                      : (gm_device_array *)Py_NewRef((PyObject *)from);
    if (!apart) {
        return -1;
    }
    gm_status status = gm_device_array_copy_to(apart, to, stream, nonblocking);
    Py_DECREF(apart);
    if (status != GM_OK) {
        gm_raise(status);
        return -1;
    }
    return 0;
}

/* to[...] = value; the target's device is the current one. */
static int assign(gm_device_array *to, PyObject *value)
{
    pairing p;
    gm_device_array *taken = take_value(value, to);
    int failed = taken ? pair(taken->layout, to->layout, &p) : -1;
    if (!failed && PyArray_NBYTES(to->layout) > 0) {
        gm_device_array *from = view_paired(taken, &p, p.from);
        gm_device_array *target = from ? view_paired(to, &p, p.to) : NULL;
        failed = target ? copy_over(from, target) : -1;
        Py_XDECREF(from);
        Py_XDECREF(target);
    }
    Py_XDECREF(taken);
    return failed;
}

int gm_device_assign(PyObject *array, PyObject *index, PyObject *value)
{
    if (!value) {
        PyErr_SetString(PyExc_TypeError,
                        "'gpumem.DeviceArray' object doesn't support item deletion");
        return -1;
    }
    gm_device_array *to = (gm_device_array *)gm_device_view_index(array, index);
    int failed = -1, previous;
    if (to && !PyArray_ISWRITEABLE(to->layout)) {
        PyErr_SetString(PyExc_ValueError, "the array is read-only");
    } else if (to && gm_enter_device(to->memory, &previous) == 0) {
        failed = assign(to, value);
        gm_leave_device(to->memory, previous);
    }
    Py_XDECREF(to);
    return failed;
}
