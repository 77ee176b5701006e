/*
 * DeviceArray.astype: numbers of another dtype, converted on the device. NumPy says which casts a
 * rule allows; a copy that changes the layout alone is an ordinary one.
 */
#include "python/device_astype.h"

#include "call/run.h"
#include "python/arrays.h"
#include "python/describe.h"
#include "python/device_array.h"
#include "python/devices.h"
#include "python/errors.h"
#include "python/values.h"
#include "sim/trace.h"

enum {
    FAR_APART = 32,      /* numbers: a warp's */
    TWO_STEPS = 8 << 20, /* bytes read and written, as measured on an H200: the L2 has less */
};

typedef struct request {
    PyArray_Descr *dtype; /* a reference */
    NPY_ORDER order;
    NPY_CASTING casting;
    bool copies; /* even if nothing changes */
    gm_stream stream;
    bool nonblocking;
    gm_trace *trace; /* the simulator observes the conversion; NULL: nobody does */
} request;

/* ---- what is allowed ------------------------------------------------------------------------ */

/* One of NumPy's own, and not another library's of the same kind and size. */
static bool is_converted(PyArray_Descr *dtype)
{
    const gm_array one = {.kind = dtype->kind, .itemsize = PyDataType_ELSIZE(dtype)};
    const gm_family *copy = gm_find_family("copy");
    bool known = copy && copy->converts && copy->converts(&one);
    PyArray_Descr *plain = known ? gm_plain_dtype(one.kind, (int)one.itemsize) : NULL;
    bool converted = plain && PyArray_EquivTypes(plain, dtype);
    Py_XDECREF(plain);
    return converted;
}

static int refuse_cast(PyArray_Descr *from, PyArray_Descr *to, PyObject *rule)
{
    gm_raise_about(PyExc_TypeError, "Cannot cast array data from %R to %R according to the rule %R",
                   from, to, rule ? rule : Py_None);
    return -1;
}

/* As NumPy warns. */
static int warn_of_imaginary(PyArray_Descr *from, PyArray_Descr *to)
{
    if (from->kind != 'c' || to->kind == 'c' || to->kind == 'b') {
        return 0;
    }
    PyObject *module = PyImport_ImportModule("numpy.exceptions");
    PyObject *category = module ? PyObject_GetAttrString(module, "ComplexWarning") : NULL;
    int failed = category ? PyErr_WarnEx(category,
                                         "Casting complex values to real discards the imaginary "
                                         "part",
                                         1)
                          : -1;
    Py_XDECREF(category);
    Py_XDECREF(module);
    return failed;
}

static int check_cast(PyArray_Descr *from, const request *r, PyObject *rule)
{
    if (r->casting > NPY_UNSAFE_CASTING) {
        gm_raise_about(PyExc_ValueError,
                       "casting is %R, expected 'no', 'equiv', 'safe', 'same_kind' or 'unsafe'",
                       rule);
        return -1;
    }
    if (PyArray_EquivTypes(from, r->dtype)) {
        return 0;
    }
    PyArray_Descr *strange = is_converted(from) ? r->dtype : from;
    if (!is_converted(strange)) {
        PyErr_Format(PyExc_TypeError,
                     "astype converts bool, integers, float16 to float64, complex64 and complex128 "
                     "on the device, not %.200R: to_host().astype() does it on the host",
                     strange);
        return -1;
    }
    if (!PyArray_CanCastTypeTo(from, r->dtype, r->casting)) {
        return refuse_cast(from, r->dtype, rule);
    }
    return warn_of_imaginary(from, r->dtype);
}

/* ---- the result ----------------------------------------------------------------------------- */

static bool is_in_order(PyArrayObject *layout, NPY_ORDER order)
{
    bool c = PyArray_IS_C_CONTIGUOUS(layout), f = PyArray_IS_F_CONTIGUOUS(layout);
    return order == NPY_CORDER ? c : order == NPY_FORTRANORDER ? f : c || f;
}

static npy_intp distance(PyArrayObject *layout, int axis)
{
    npy_intp stride = PyArray_STRIDE(layout, axis);
    return stride < 0 ? -stride : stride;
}

/* The axes, the outermost in memory first. */
static void sort_axes(PyArrayObject *layout, NPY_ORDER order, int *axes)
{
    const int ndim = PyArray_NDIM(layout);
    bool keeps = order == NPY_KEEPORDER && !PyArray_IS_C_CONTIGUOUS(layout);
    bool fortran =
        order == NPY_FORTRANORDER || (order != NPY_CORDER && PyArray_IS_F_CONTIGUOUS(layout) &&
                                      !PyArray_IS_C_CONTIGUOUS(layout));
    for (int d = 0; d < ndim; d++) {
        int at = d;
        for (; keeps && at > 0 && distance(layout, axes[at - 1]) < distance(layout, d); at--) {
            axes[at] = axes[at - 1];
        }
        axes[at] = d;
    }
    for (int d = 0; fortran && d < ndim; d++) {
        axes[d] = ndim - 1 - d;
    }
}

/* Without gaps, in the order asked for. */
static gm_device_array *new_result(const gm_device_array *self, const request *r)
{
    npy_intp packed[NPY_MAXDIMS] = {0}, strides[NPY_MAXDIMS];
    PyArrayObject *layout = self->layout;
    const int ndim = PyArray_NDIM(layout);
    int axes[NPY_MAXDIMS];
    sort_axes(layout, r->order, axes);
    for (int d = 0; d < ndim; d++) {
        packed[d] = PyArray_DIM(layout, axes[d]);
    }
    gm_device_array *made = gm_device_array_new(self->memory->backend, r->dtype, ndim, packed);
    if (!made) {
        return NULL;
    }
    for (int d = 0; d < ndim; d++) {
        strides[axes[d]] = PyArray_STRIDE(made->layout, d);
    }
    Py_INCREF(r->dtype);
    PyObject *view = gm_device_array_view(
        made, PyArray_NewFromDescr(&PyArray_Type, r->dtype, ndim, PyArray_DIMS(layout), strides,
                                   PyArray_DATA(made->layout), NPY_ARRAY_WRITEABLE, NULL));
    Py_DECREF(made);
    return (gm_device_array *)view;
}

/* ---- the conversion ------------------------------------------------------------------------- */

static gm_status convert(const gm_device_array *from, gm_device_array *to, const request *r)
{
    gm_run run;
    gm_status status = gm_run_begin_copy(&run, from->memory, to->memory);
    if (status != GM_OK) {
        return status;
    }
    run.call.stream = r->stream;
    run.nonblocking = r->nonblocking;
    run.call.trace = r->trace;
    gm_describe(from->layout, GM_DEVICE, &run.call.in[0]);
    gm_describe(to->layout, GM_DEVICE, &run.call.out);
    Py_BEGIN_ALLOW_THREADS
    status = gm_run_work(&run, gm_find_family("copy")->convert);
    Py_END_ALLOW_THREADS
    return status;
}

/* The kernel loads numbers whole. A new reference. */
static gm_device_array *aligned(gm_device_array *self, const request *r)
{
    return PyArray_ISALIGNED(self->layout) ? (gm_device_array *)Py_NewRef((PyObject *)self)
                                           : gm_device_array_copy(self, r->stream, r->nonblocking);
}

/* -1 with an exception. */
static int fill(gm_device_array *from, gm_device_array *to, const request *r)
{
    gm_status status;
    if (PyArray_EquivTypes(PyArray_DESCR(from->layout), PyArray_DESCR(to->layout))) {
        status = gm_device_array_copy_to(from, to, r->stream, r->nonblocking);
    } else {
        gm_device_array *whole = aligned(from, r);
        if (!whole) {
            return -1;
        }
        status = convert(whole, to, r);
        Py_DECREF(whole);
    }
    if (status != GM_OK) {
        gm_raise(status);
        return -1;
    }
    return 0;
}

/* The axis whose next element is closest; -1 if no element follows another. */
static int closest_axis(PyArrayObject *layout)
{
    int closest = -1;
    for (int d = 0; d < PyArray_NDIM(layout); d++) {
        if (PyArray_DIM(layout, d) > 1 &&
            (closest < 0 || distance(layout, d) <= distance(layout, closest))) {
            closest = d;
        }
    }
    return closest;
}

/* The kernel that converts goes through the result in order. Where numbers that are side by side in
 * the input are far apart there, it reads each in a sector of its own. A conversion in the input's
 * order and a permutation move more bytes, all of them in whole sectors. */
static bool takes_two_steps(const gm_device_array *from, const gm_device_array *to,
                            const request *r)
{
    const int axis = closest_axis(from->layout);
    const npy_intp itemsize = PyArray_ITEMSIZE(to->layout);
    return !r->trace && axis >= 0 && distance(from->layout, axis) > 0 &&
           distance(to->layout, axis) >= FAR_APART * itemsize &&
           PyArray_SIZE(to->layout) >= TWO_STEPS / (PyArray_ITEMSIZE(from->layout) + itemsize) &&
           !PyArray_EquivTypes(PyArray_DESCR(from->layout), PyArray_DESCR(to->layout));
}

/* The narrower numbers are those that are permuted; without memory for these, one step will do. */
static int fill_in_two_steps(gm_device_array *from, gm_device_array *to, const request *r)
{
    const bool narrows = PyArray_ITEMSIZE(to->layout) <= PyArray_ITEMSIZE(from->layout);
    const request first = {.dtype = PyArray_DESCR(narrows ? to->layout : from->layout),
                           .order = narrows ? NPY_KEEPORDER : r->order};
    gm_device_array *between = new_result(from, &first);
    if (!between && PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear();
        return fill(from, to, r);
    }
    int failed = !between || fill(from, between, r) < 0 || fill(between, to, r) < 0;
    Py_XDECREF(between);
    return -failed;
}

/* The array's device is the current one. */
static gm_device_array *converted(gm_device_array *self, const request *r)
{
    gm_device_array *made = new_result(self, r);
    if (made && (takes_two_steps(self, made, r) ? fill_in_two_steps : fill)(self, made, r) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

static PyObject *run(gm_device_array *self, request *r, PyObject *stream, PyObject *rule)
{
    PyArrayObject *layout = self->layout;
    int previous;
    if (gm_check_dtype(r->dtype, "dtype") < 0 || gm_check_sized(r->dtype, "dtype") < 0 ||
        check_cast(PyArray_DESCR(layout), r, rule) < 0 ||
        gm_device_array_queue(self, stream, &r->stream, &r->nonblocking) < 0) {
        return NULL;
    }
    if (!r->copies && PyArray_EquivTypes(PyArray_DESCR(layout), r->dtype) &&
        (r->order == NPY_KEEPORDER || is_in_order(layout, r->order))) {
        return Py_NewRef((PyObject *)self);
    }
    if (gm_enter_device(self->memory, &previous) < 0) {
        return NULL;
    }
    gm_device_array *made = converted(self, r);
    gm_leave_device(self->memory, previous);
    return (PyObject *)made;
}

static PyObject *array_astype(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"dtype", "order", "casting", "copy", "stream", NULL};
    request r = {.order = NPY_CORDER, .casting = NPY_UNSAFE_CASTING, .copies = true};
    PyObject *rule = NULL, *stream = NULL, *made = NULL;
    PyObject *copy = Py_True;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&|$O&OOO:astype", names, gm_dtype_converter,
                                     &r.dtype, gm_order_converter, &r.order, &rule, &copy,
                                     &stream)) {
        Py_XDECREF(r.dtype);
        return NULL;
    }
    int copies = gm_parse_flag(copy, "copy");
    r.copies = copies > 0;
    if (rule && PyArray_CastingConverter(rule, &r.casting) != NPY_SUCCEED) {
        gm_name_error("casting", rule);
    } else if (copies >= 0) {
        made = run((gm_device_array *)object, &r, stream, rule);
    }
    Py_DECREF(r.dtype);
    return made;
}

PyObject *gm_core_astype_traffic(PyObject *module, PyObject *args)
{
    request r = {.order = NPY_CORDER, .casting = NPY_UNSAFE_CASTING, .copies = true};
    PyObject *array, *made = NULL, *lines = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O&:astype_traffic", &gm_device_array_type, &array,
                          gm_dtype_converter, &r.dtype)) {
        return NULL;
    }
    r.trace = gm_trace_create();
    if (!r.trace) {
        PyErr_NoMemory();
    } else if (((gm_device_array *)array)->memory->backend != gm_backend_with_traces()) {
        PyErr_SetString(PyExc_ValueError, "array is not on the simulator");
    } else {
        made = run((gm_device_array *)array, &r, NULL, NULL);
    }
    if (made) {
        lines = gm_traced_lines(r.trace);
        Py_DECREF(made);
    }
    gm_trace_destroy(r.trace);
    Py_DECREF(r.dtype);
    return lines;
}

PyMethodDef gm_device_astype_methods[] = {
    {"astype", (PyCFunction)(void (*)(void))array_astype, METH_VARARGS | METH_KEYWORDS,
     "astype($self, dtype, *, order='C', casting='unsafe', copy=True, stream=None)\n--\n\n"
     "Return the numbers as another dtype, converted on the device.\n\n"
     "Parameters\n----------\n"
     "dtype : data-type\n"
     "    bool, an integer, float16 to float64, complex64 or complex128, and so is the array's; "
     "or\n"
     "    the array's own, whichever that is.\n"
     "order : {'C', 'F', 'A', 'K'}, optional\n"
     "    The order of the result in memory, which has no gaps: C's, Fortran's, Fortran's if the\n"
     "    array has it alone, or as close to the array's as possible.\n"
     "casting : {'unsafe', 'same_kind', 'safe', 'equiv', 'no'}, optional\n"
     "    Which casts are allowed, as in :func:`numpy.can_cast`.\n"
     "copy : bool, optional\n"
     "    If False, an array that has this dtype and order is returned itself.\n"
     "stream : Stream or another library's, optional\n"
     "    The stream that the conversion runs on; the default stream if None.\n\n"
     "Returns\n-------\nDeviceArray\n\n"
     "Raises\n------\n"
     "TypeError\n"
     "    If `casting` forbids the cast, or the device does not convert one of the dtypes.\n\n"
     "Notes\n-----\n"
     "Numbers are converted as by NumPy: cut to whole ones, rounded to the nearest float, ties to\n"
     "even, integers wrapped. A float that does not fit into an integer, a NaN among them, has no\n"
     "defined result, in NumPy neither; no warning says so here. A NaN may come back as another.\n"
     "Imaginary parts are dropped with NumPy's ComplexWarning.\n"
     "Large arrays whose order changes are converted and put in order one after the other, in\n"
     "memory for the narrower numbers, if there is as much."
     "\n\nExamples\n--------\n"
     ">>> import numpy as np, gpumem as gm\n"
     ">>> d = gm.to_device(np.array([1.5, -2.75]), backend='sim')\n"
     ">>> d.astype('int8').tolist(), d.astype('float16').dtype\n"
     "([1, -2], dtype('float16'))"},
    {NULL, NULL, 0, NULL},
};
