/*
 * What a DeviceArray refuses because the elements would have to be on the host: comparing,
 * converting to a Python number, iterating, NumPy's functions.
 *
 * By Python's and NumPy's defaults some of these would give a wrong answer without an error:
 * numpy.array_equal False, bool() True. All of them raise the same TypeError instead.
 */
#include "python/refusals.h"

#include "python/values.h"

static PyObject *refuse(PyObject *what)
{
    if (what) {
        PyErr_Format(PyExc_TypeError,
                     "%U does not take a gpumem.DeviceArray, whose elements are in device memory: "
                     "to_host() copies them to NumPy; torch.from_dlpack() or cupy.from_dlpack() "
                     "hands the array over without a copy",
                     what);
        Py_DECREF(what);
    }
    return NULL;
}

static PyObject *refuse_named(const char *what)
{
    return refuse(PyUnicode_FromString(what));
}

/* ---- Python ------------------------------------------------------------------------------- */

PyObject *gm_refuse_compare(PyObject *self, PyObject *other, int operation)
{
    static const char *const names[] = {
        [Py_LT] = "<",  [Py_LE] = "<=", [Py_EQ] = "==",
        [Py_NE] = "!=", [Py_GT] = ">",  [Py_GE] = ">=",
    };
    (void)self;
    (void)other;
    return refuse_named(names[operation]);
}

static int to_bool(PyObject *self)
{
    (void)self;
    refuse_named("bool()");
    return -1;
}

static PyObject *to_int(PyObject *self)
{
    (void)self;
    return refuse_named("int()");
}

static PyObject *to_float(PyObject *self)
{
    (void)self;
    return refuse_named("float()");
}

static PyObject *to_index(PyObject *self)
{
    (void)self;
    return refuse_named("operator.index()");
}

PyObject *gm_refuse_complex(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return refuse_named("complex()");
}

PyObject *gm_refuse_iter(PyObject *self)
{
    (void)self;
    return refuse_named("iter()");
}

static int contains(PyObject *self, PyObject *value)
{
    (void)self;
    (void)value;
    refuse_named("\"in\"");
    return -1;
}

PyNumberMethods gm_refused_numbers = {
    .nb_bool = to_bool,
    .nb_int = to_int,
    .nb_float = to_float,
    .nb_index = to_index,
};

PySequenceMethods gm_refused_sequence = {
    .sq_contains = contains,
};

/* ---- NumPy -------------------------------------------------------------------------------- */

PyObject *gm_refuse_array(PyObject *self, PyObject *args, PyObject *keywords)
{
    (void)self;
    (void)args;
    (void)keywords;
    return refuse_named("numpy.asarray");
}

/* __array_function__ and __array_ufunc__: NumPy's function comes first. */
PyObject *gm_refuse_function(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *name = NULL;
    (void)self;
    (void)keywords;
    if (PyTuple_GET_SIZE(args) > 0 &&
        gm_optional_attribute(PyTuple_GET_ITEM(args, 0), "__name__", &name) < 0) {
        return NULL;
    }
    PyObject *what =
        name ? PyUnicode_FromFormat("numpy.%S", name) : PyUnicode_FromString("a function of NumPy");
    Py_XDECREF(name);
    return refuse(what);
}
