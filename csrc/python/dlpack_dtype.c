/* DLPack's codes of dtypes, in both directions. */
#include "python/dlpack_dtype.h"

#include "python/arrays.h"
#include "python/values.h"

/* ---- those of ml_dtypes ---------------------------------------------------------------------- */

typedef struct small_float {
    int code, bits;
    const char *name; /* in ml_dtypes */
} small_float;

static const small_float small_floats[] = {
    {kDLBfloat, 16, "bfloat16"},
    {kDLFloat8_e3m4, 8, "float8_e3m4"},
    {kDLFloat8_e4m3, 8, "float8_e4m3"},
    {kDLFloat8_e4m3b11fnuz, 8, "float8_e4m3b11fnuz"},
    {kDLFloat8_e4m3fn, 8, "float8_e4m3fn"},
    {kDLFloat8_e4m3fnuz, 8, "float8_e4m3fnuz"},
    {kDLFloat8_e5m2, 8, "float8_e5m2"},
    {kDLFloat8_e5m2fnuz, 8, "float8_e5m2fnuz"},
    {kDLFloat8_e8m0fnu, 8, "float8_e8m0fnu"},
};
enum { SMALL_FLOATS = sizeof small_floats / sizeof *small_floats };

/* Its type in ml_dtypes, a new reference; NULL without an exception if that has none, or is not
 * installed. */
static PyObject *find_type(const small_float *wanted)
{
    PyObject *type = NULL, *module = PyImport_ImportModule("ml_dtypes");
    if (!module) {
        if (PyErr_ExceptionMatches(PyExc_ImportError)) {
            PyErr_Clear();
        }
        return NULL;
    }
    (void)gm_optional_attribute(module, wanted->name, &type);
    Py_DECREF(module);
    return type;
}

static PyArray_Descr *find_small_float(const small_float *wanted, const char *name)
{
    PyArray_Descr *dtype = NULL;
    PyObject *type = find_type(wanted);
    if (type) {
        (void)PyArray_DescrConverter(type, &dtype);
        Py_DECREF(type);
    } else if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError,
                     "%s has dtype %s, which NumPy knows only with the package ml_dtypes: install "
                     "it, or give a view of the elements as integers of %d bits",
                     name, wanted->name, wanted->bits);
    }
    return dtype;
}

/* The code of a dtype that is not NumPy's own; -1, maybe with an exception, if it has none. */
static int code_of_small_float(PyArray_Descr *dtype)
{
    for (int i = 0; i < SMALL_FLOATS; i++) {
        PyObject *type = find_type(&small_floats[i]);
        bool found = type == (PyObject *)dtype->typeobj;
        Py_XDECREF(type);
        if (found || PyErr_Occurred()) {
            return found ? small_floats[i].code : -1;
        }
    }
    return -1;
}

/* ---- all ------------------------------------------------------------------------------------- */

PyArray_Descr *gm_dlpack_dtype(DLDataType elements, const char *name)
{
    static const char kinds[] = {
        [kDLInt] = 'i', [kDLUInt] = 'u', [kDLFloat] = 'f', [kDLComplex] = 'c', [kDLBool] = 'b',
    };
    int code = elements.code, bits = elements.bits;
    if (elements.lanes != 1) {
        PyErr_Format(PyExc_TypeError, "%s has elements of %d lanes, accepted is 1", name,
                     (int)elements.lanes);
        return NULL;
    }
    char kind = (size_t)code < sizeof kinds ? kinds[code] : 0;
    PyArray_Descr *dtype = kind && bits % 8 == 0 ? gm_plain_dtype(kind, bits / 8) : NULL;
    if (dtype) {
        return dtype;
    }
    for (int i = 0; i < SMALL_FLOATS; i++) {
        if (small_floats[i].code == code && small_floats[i].bits == bits) {
            return find_small_float(&small_floats[i], name);
        }
    }
    PyErr_Format(PyExc_TypeError,
                 "%s has elements of DLPack's code %d with %d bits, which NumPy does not know",
                 name, code, bits);
    return NULL;
}

int gm_dlpack_code(PyArray_Descr *dtype)
{
    int number = dtype->type_num, code = -1;
    bool extended = number == NPY_LONGDOUBLE || number == NPY_CLONGDOUBLE;
    if (number >= NPY_USERDEF) { /* whose kind may be that of NumPy's floats */
        code = code_of_small_float(dtype);
    } else if (PyDataType_ELSIZE(dtype) > 0 && !extended && !PyDataType_HASFIELDS(dtype) &&
               !PyDataType_HASSUBARRAY(dtype)) {
        switch (dtype->kind) {
        case 'b': code = kDLBool; break;
        case 'i': code = kDLInt; break;
        case 'u': code = kDLUInt; break;
        case 'f': code = kDLFloat; break;
        case 'c': code = kDLComplex; break;
        default: break;
        }
    }
    if (code < 0 && !PyErr_Occurred()) {
        PyErr_Format(PyExc_BufferError, "DLPack has no code for dtype %R; view() may help", dtype);
    }
    return code;
}
