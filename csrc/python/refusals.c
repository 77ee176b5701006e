/*
 * What a DeviceArray refuses because the elements would have to be on the host: comparing,
 * converting to a Python number, iterating, arithmetic, NumPy's functions.
 *
 * By Python's and NumPy's defaults some of these would give a wrong answer without an error:
 * numpy.array_equal False, bool() True. All of them raise the same TypeError instead.
 */
#include "python/refusals.h"

#include "python/device_object.h"
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

/* ---- arithmetic --------------------------------------------------------------------------- */

/* Where the other operand is on the right, and has an operator of its own, it is asked first:
 * CuPy's arrays take ours. */
#define REFUSE_BINARY(slot, text)                                                                  \
    static PyObject *refuse_##slot(PyObject *left, PyObject *right)                                \
    {                                                                                              \
        const PyNumberMethods *other = Py_TYPE(right)->tp_as_number;                               \
        bool asks = gm_is_device_array(left) && !gm_is_device_array(right) &&                      \
                    !PyArray_IsPythonNumber(right) && other && other->slot;                        \
        return asks ? Py_NewRef(Py_NotImplemented) : refuse_named(text);                           \
    }

REFUSE_BINARY(nb_add, "+")
REFUSE_BINARY(nb_subtract, "-")
REFUSE_BINARY(nb_multiply, "*")
REFUSE_BINARY(nb_remainder, "%")
REFUSE_BINARY(nb_divmod, "divmod()")
REFUSE_BINARY(nb_lshift, "<<")
REFUSE_BINARY(nb_rshift, ">>")
REFUSE_BINARY(nb_and, "&")
REFUSE_BINARY(nb_xor, "^")
REFUSE_BINARY(nb_or, "|")
REFUSE_BINARY(nb_floor_divide, "//")
REFUSE_BINARY(nb_true_divide, "/")
REFUSE_BINARY(nb_matrix_multiply, "@")

static PyObject *refuse_power(PyObject *left, PyObject *right, PyObject *modulus)
{
    (void)modulus;
    const PyNumberMethods *other = Py_TYPE(right)->tp_as_number;
    bool asks = gm_is_device_array(left) && !gm_is_device_array(right) &&
                !PyArray_IsPythonNumber(right) && other && other->nb_power;
    return asks ? Py_NewRef(Py_NotImplemented) : refuse_named("**");
}

static PyObject *refuse_negative(PyObject *self)
{
    (void)self;
    return refuse_named("unary -");
}

static PyObject *refuse_positive(PyObject *self)
{
    (void)self;
    return refuse_named("unary +");
}

static PyObject *refuse_absolute(PyObject *self)
{
    (void)self;
    return refuse_named("abs()");
}

static PyObject *refuse_invert(PyObject *self)
{
    (void)self;
    return refuse_named("~");
}

PyNumberMethods gm_refused_numbers = {
    .nb_bool = to_bool,
    .nb_int = to_int,
    .nb_float = to_float,
    .nb_index = to_index,
    .nb_negative = refuse_negative,
    .nb_positive = refuse_positive,
    .nb_absolute = refuse_absolute,
    .nb_invert = refuse_invert,
    .nb_power = refuse_power,
    .nb_add = refuse_nb_add,
    .nb_subtract = refuse_nb_subtract,
    .nb_multiply = refuse_nb_multiply,
    .nb_remainder = refuse_nb_remainder,
    .nb_divmod = refuse_nb_divmod,
    .nb_lshift = refuse_nb_lshift,
    .nb_rshift = refuse_nb_rshift,
    .nb_and = refuse_nb_and,
    .nb_xor = refuse_nb_xor,
    .nb_or = refuse_nb_or,
    .nb_floor_divide = refuse_nb_floor_divide,
    .nb_true_divide = refuse_nb_true_divide,
    .nb_matrix_multiply = refuse_nb_matrix_multiply,
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

/* ---- methods of other libraries' arrays ----------------------------------------------------- */

/* What ndarray, CuPy's arrays or PyTorch's tensors have, and compute. */
static const char *const computing[] = {
    "abs",       "all",         "any",         "argmax",      "argmin",       "argpartition",
    "argsort",   "byteswap",    "choose",      "clip",        "compress",     "conj",
    "conjugate", "cpu",         "cstruct",     "cumprod",     "cumsum",       "diagonal",
    "dot",       "float",       "get",         "imag",        "int",          "max",
    "mdspan",    "mean",        "min",         "nonzero",     "numpy",        "partition",
    "prod",      "ptp",         "put",         "real",        "reduced_view", "repeat",
    "round",     "scatter_add", "scatter_max", "scatter_min", "searchsorted", "sort",
    "std",       "sum",         "take",        "to",          "trace",        "var",
};

/* What they have, and a DeviceArray has by another name. */
static const struct {
    const char *name, *instead;
} others[] = {
    {"base", "views share the memory, and none of them owns it"},
    {"data", "d.pointer is the address of the first element"},
    {"dump", "pickle.dump(d, file) writes it"},
    {"dumps", "pickle.dumps(d) is its bytes"},
    {"fill", "d[...] = value sets all elements"},
    {"flat", "d.ravel() has one dimension"},
    {"set", "d[...] = a copies an array from the host"},
    {"toDlpack", "from_dlpack of the other library takes d itself"},
    {"tobytes", "d.to_host().tobytes() copies it to the host first"},
    {"tofile", "d.to_host().tofile(file) copies it to the host first"},
};

static PyObject *advise(PyObject *name, const char *instead, const char *more)
{
    PyErr_Clear();
    return PyErr_Format(PyExc_AttributeError, "a gpumem.DeviceArray d has no attribute '%U': %s%s",
                        name, instead, more);
}

PyObject *gm_find_or_advise(PyObject *self, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return found;
    }
    for (size_t i = 0; i < sizeof computing / sizeof *computing; i++) {
        if (PyUnicode_CompareWithASCIIString(name, computing[i]) == 0) {
            bool on_host = ((gm_device_array *)self)->memory->backend->host_memory;
            return advise(name,
                          on_host ? "numpy.from_dlpack(d)"
                                  : "cupy.from_dlpack(d) or torch.from_dlpack(d)",
                          " hands it, without a copy, to a library that computes; d.to_host() "
                          "copies it to NumPy");
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (PyUnicode_CompareWithASCIIString(name, others[i].name) == 0) {
            return advise(name, others[i].instead, "");
        }
    }
    return NULL;
}
