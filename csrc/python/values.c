/* Parses arguments that are not arrays. */
#include "python/values.h"

#include <string.h>

#include "python/device_object.h"
#include "python/errors.h"

const char *gm_c_string(PyObject *text, const char *name)
{
    Py_ssize_t length;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &length);
    if (!bytes && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%s is %.80R, which holds a lone surrogate", name, text);
        return NULL;
    }
    if (bytes && strlen(bytes) != (size_t)length) {
        PyErr_Format(PyExc_ValueError, "%s is %.80R, which holds a null character", name, text);
        return NULL;
    }
    return bytes;
}

/* Of a lookup that failed or not: 0, or -1 with the exception if it is not that there is none. */
static int forgive_absence(const PyObject *value)
{
    if (!value && !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return -1;
    }
    if (!value) {
        PyErr_Clear();
    }
    return 0;
}

int gm_optional_attribute(PyObject *object, const char *name, PyObject **value)
{
    *value = PyObject_GetAttrString(object, name);
    return forgive_absence(*value);
}

int gm_find_attribute(PyObject *object, PyObject *name, PyObject **value)
{
    *value = PyObject_GetAttr(object, name);
    return forgive_absence(*value);
}

int gm_has_attribute(PyObject *object, const char *name)
{
    PyObject *value;
    if (gm_optional_attribute(object, name, &value) < 0) {
        return -1;
    }
    Py_XDECREF(value);
    return value != NULL;
}

bool gm_is_integer(PyObject *object)
{
    /* A device array has __index__, which raises an exception with advice. */
    return PyIndex_Check(object) && !PyBool_Check(object) && !gm_is_device_array(object);
}

void gm_name_error(const char *name, PyObject *object)
{
    PyObject *type, *raised, *traceback, *kind = PyExc_ValueError;
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
        kind = PyExc_TypeError;
    } else if (PyErr_ExceptionMatches(PyExc_IndexError) || /* an AxisError, which is a ValueError */
               (!PyErr_ExceptionMatches(PyExc_ValueError) &&
                !PyErr_ExceptionMatches(PyExc_OverflowError))) {
        return;
    }
    PyErr_Fetch(&type, &raised, &traceback);
    PyErr_NormalizeException(&type, &raised, &traceback);
    gm_raise_about(kind, "%s is %.80R: %.200S", name, object, raised);
    Py_XDECREF(type);
    Py_XDECREF(raised);
    Py_XDECREF(traceback);
}

int gm_parse_flag(PyObject *object, const char *name)
{
    int flag = PyObject_IsTrue(object);
    if (flag < 0) {
        gm_name_error(name, object);
    }
    return flag;
}

int gm_dtype_converter(PyObject *object, void *dtype)
{
    if (gm_is_device_array(object)) { /* NumPy refuses its own arrays, and looks at .dtype */
        PyErr_SetString(PyExc_TypeError, "dtype is a gpumem.DeviceArray, expected a data type");
        return 0;
    }
    if (PyArray_DescrConverter(object, dtype)) {
        return 1;
    }
    gm_name_error("dtype", object);
    return 0;
}

int gm_order_converter(PyObject *object, void *order)
{
    if (PyArray_OrderConverter(object, order)) {
        return 1;
    }
    gm_name_error("order", object);
    return 0;
}

int gm_parse_shape(PyObject *object, PyArray_Dims *shape)
{
    if (object == Py_None) { /* NumPy before 2.4 takes it for () */
        PyErr_SetString(PyExc_TypeError, "shape must be an int or a sequence of ints, not None");
        return -1;
    }
    if (PyArray_IntpConverter(object, shape)) {
        return 0;
    }
    gm_name_error("shape", object);
    return -1;
}

/* An int of exactly this type and range; anything else is left to Python. */
static bool read_small(PyObject *object, long least, long most, long *number)
{
    if (!PyLong_CheckExact(object)) {
        return false;
    }
    int overflow;
    *number = PyLong_AsLongAndOverflow(object, &overflow);
    return !overflow && *number >= least && *number <= most;
}

PyObject *gm_core_pack_bytes(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    enum { LEAST, MOST, ZERO, EACH, LONGEST, COUNT, LIMITS };
    static const long from[LIMITS] = {-128, -128, 0, 1, 1, 1};
    static const long to[LIMITS] = {127, 127, 128, 7, 7 * GM_MAX_PARAMETERS, GM_MAX_PARAMETERS};
    uint64_t packed[GM_MAX_PARAMETERS] = {0};
    long limit[LIMITS], number;
    (void)module;
    for (int i = 0; i < LIMITS; i++) {
        if (count != 1 + LIMITS || !read_small(args[1 + i], from[i], to[i], &limit[i])) {
            PyErr_SetString(PyExc_TypeError, "pack_bytes takes 7 arguments: numbers, least, most, "
                                             "zero, each, longest, count");
            return NULL;
        }
    }
    const Py_ssize_t length = PyTuple_CheckExact(args[0]) ? PyTuple_GET_SIZE(args[0]) : 0;
    if (length == 0 || length > limit[LONGEST] || length > limit[EACH] * limit[COUNT]) {
        Py_RETURN_NONE;
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        if (!read_small(PyTuple_GET_ITEM(args[0], i), limit[LEAST], limit[MOST], &number)) {
            Py_RETURN_NONE;
        }
        packed[i / limit[EACH]] |= ((uint64_t)(number + limit[ZERO]) & 255)
                                   << 8 * (i % limit[EACH]);
    }
    PyObject *all = PyTuple_New(limit[COUNT]);
    for (Py_ssize_t i = 0; all && i < limit[COUNT]; i++) {
        PyObject *one = PyLong_FromUnsignedLongLong(packed[i]);
        if (!one) {
            Py_CLEAR(all);
            break;
        }
        PyTuple_SET_ITEM(all, i, one);
    }
    return all;
}

int gm_parse_chunk(PyObject *object, int64_t *chunk)
{
    *chunk = object ? PyLong_AsLongLong(object) : 0;
    if (*chunk < 0 && !PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "chunk is %lld, expected at least 0", (long long)*chunk);
    }
    return *chunk < 0 ? -1 : 0;
}

int gm_parse_backend(PyObject *object, const gm_backend **backend)
{
    const char *name = NULL;
    if (object && object != Py_None) {
        if (!PyUnicode_Check(object)) {
            PyErr_Format(PyExc_TypeError, "backend must be a str or None, not %.100s",
                         Py_TYPE(object)->tp_name);
            return -1;
        }
        name = gm_c_string(object, "backend");
        if (!name) {
            return -1;
        }
    }
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = gm_backend_get(name, backend);
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        gm_raise(status);
        return -1;
    }
    return 0;
}

int gm_parse_only_backend(PyObject *args, PyObject *keywords, const char *format,
                          const gm_backend **backend)
{
    static char *names[] = {"backend", NULL};
    PyObject *name = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, format, names, &name)) {
        return -1;
    }
    return gm_parse_backend(name, backend);
}
