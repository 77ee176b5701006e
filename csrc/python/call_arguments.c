/* Parses and checks the arguments of a call. */
#include "python/call_arguments.h"

#include <stdio.h>
#include <string.h>

#include "python/arrays.h"
#include "python/errors.h"
#include "python/values.h"

/* ---- names and numbers ---------------------------------------------------------------------- */

const gm_family *gm_parse_family(PyObject *name)
{
    const char *text = PyUnicode_Check(name) ? gm_c_string(name, "family") : NULL;
    const gm_family *family = text ? gm_find_family(text) : NULL;
    if (!family && !PyErr_Occurred()) {
        PyObject *known = PyList_New(0);
        for (int i = 0; known && i < gm_family_count; i++) {
            gm_append_name(&known, gm_families[i]->name);
        }
        gm_raise_unknown("family is", name, known, ", known are");
    }
    return family;
}

int gm_parse_variant(const gm_family *family, PyObject *name, const gm_variant **variant)
{
    *variant = NULL;
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "variant must be a str, not %.100s", Py_TYPE(name)->tp_name);
        return -1;
    }
    const char *text = gm_c_string(name, "variant");
    if (!text) {
        return -1;
    }
    if (strcmp(text, "auto") == 0 || (*variant = gm_find_variant(family, text))) {
        return 0;
    }
    if ((*variant = gm_find_former(family, text))) {
        return PyErr_WarnFormat(PyExc_DeprecationWarning, 2, "variant \"%s\" of %s is now \"%s\"",
                                text, family->name, (*variant)->name);
    }
    PyObject *known = PyList_New(0);
    gm_append_name(&known, "auto");
    for (int i = 0; known && i < family->count; i++) {
        gm_append_name(&known, family->variants[i].name);
    }
    char are[96];
    snprintf(are, sizeof are, ", known for %s are", family->name);
    gm_raise_unknown("variant is", name, known, are);
    return -1;
}

static int parse_real(const gm_parameter *parameter, PyObject *value, double *real)
{
    if (!PyFloat_Check(value) && !gm_is_integer(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be a float, not %.100s", parameter->name,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    *real = PyFloat_AsDouble(value);
    return *real == -1 && PyErr_Occurred() ? -1 : 0;
}

static int parse_integer(const gm_parameter *parameter, PyObject *value, int64_t *integer)
{
    if (!PyLong_CheckExact(value) && !gm_is_integer(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be an int, not %.100s", parameter->name,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    PyObject *index = PyLong_CheckExact(value) ? Py_NewRef(value) : PyNumber_Index(value);
    if (!index) {
        return -1;
    }
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if (overflow || number < parameter->least || number > parameter->most) {
        gm_raise_about(PyExc_ValueError, "%s is %.80S, expected %lld to %lld", parameter->name,
                       value, (long long)parameter->least, (long long)parameter->most);
        return -1;
    }
    *integer = number;
    return 0;
}

int gm_parse_parameters(const gm_family *family, PyObject *values, gm_value *parameters)
{
    if (!PyTuple_Check(values) || PyTuple_GET_SIZE(values) != family->parameter_count) {
        PyErr_Format(PyExc_TypeError, "%s takes %d parameters", family->name,
                     family->parameter_count);
        return -1;
    }
    for (int i = 0; i < family->parameter_count; i++) {
        const gm_parameter *parameter = &family->parameters[i];
        PyObject *value = PyTuple_GET_ITEM(values, i);
        int failed = parameter->real ? parse_real(parameter, value, &parameters[i].real)
                                     : parse_integer(parameter, value, &parameters[i].integer);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* Optional inputs come last. */
static int count_required(const gm_family *family)
{
    int count = family->input_count;
    while (count > 0 && family->inputs[count - 1].optional) {
        count--;
    }
    return count;
}

int gm_check_input_count(const gm_family *family, PyObject *inputs)
{
    int least = count_required(family), most = family->input_count;
    if (PyTuple_Check(inputs) && PyTuple_GET_SIZE(inputs) >= least &&
        PyTuple_GET_SIZE(inputs) <= most) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError, least < most ? "%s takes %d to %d arrays" : "%s takes %d arrays",
                 family->name, least, most);
    return -1;
}

PyObject *gm_given(const gm_family *family, PyObject *inputs, int i)
{
    PyObject *object = i < PyTuple_GET_SIZE(inputs) ? PyTuple_GET_ITEM(inputs, i) : Py_None;
    return object == Py_None && family->inputs[i].optional ? NULL : object;
}

int gm_refuse_mixed(const gm_family *family, PyObject *inputs, int i)
{
    PyObject *object = gm_given(family, inputs, i);
    bool on_device = gm_is_device_array(object);
    const char *other = "another input";
    for (int k = family->input_count - 1; k >= 0; k--) {
        PyObject *one = gm_given(family, inputs, k);
        other = one && gm_is_device_array(one) != on_device ? family->inputs[k].name : other;
    }
    PyErr_Format(PyExc_TypeError,
                 "%s is %s%.100s, %s is on the %s: inputs are either all on the host or all on the "
                 "device",
                 family->inputs[i].name, on_device ? "a " : "", Py_TYPE(object)->tp_name, other,
                 on_device ? "host" : "device");
    return -1;
}

int gm_check_input(const gm_operand *operand, PyArrayObject *array)
{
    PyArray_Descr *dtype = PyArray_DESCR(array);
    if (gm_check_sized(dtype, operand->name) < 0) {
        return -1;
    }
    uint64_t sizes = operand->itemsizes;
    int64_t size = PyArray_ITEMSIZE(array);
    if ((operand->kinds && !strchr(operand->kinds, dtype->kind)) ||
        (sizes && (size > 63 || !(sizes >> size & 1)))) {
        PyErr_Format(PyExc_TypeError, "%s has dtype %.200R, accepted is %s", operand->name, dtype,
                     operand->dtypes);
        return -1;
    }
    return 0;
}

int gm_check_in_place(const gm_family *family, PyArrayObject *const *inputs)
{
    for (int i = 1; i < family->input_count; i++) {
        if (!inputs[i]) {
            continue;
        }
        if (!family->inputs[i].other_dtype &&
            !PyArray_EquivTypes(PyArray_DESCR(inputs[0]), PyArray_DESCR(inputs[i]))) {
            PyErr_Format(PyExc_TypeError, "%s has dtype %.200R, expected that of %s, %.200R",
                         family->inputs[i].name, PyArray_DESCR(inputs[i]), family->inputs[0].name,
                         PyArray_DESCR(inputs[0]));
            return -1;
        }
        int overlaps = gm_overlaps(inputs[0], inputs[i]);
        if (overlaps > 0) {
            PyErr_Format(PyExc_ValueError, "%s overlaps %s in memory", family->inputs[0].name,
                         family->inputs[i].name);
        }
        if (overlaps != 0) {
            return -1;
        }
    }
    return 0;
}

/* Do both have the same elements at the same indices? */
static bool is_same(PyArrayObject *a, PyArrayObject *b)
{
    bool same = PyArray_DATA(a) == PyArray_DATA(b) && PyArray_NDIM(a) == PyArray_NDIM(b);
    for (int d = 0; same && d < PyArray_NDIM(a); d++) {
        same = PyArray_DIM(a, d) == PyArray_DIM(b, d) &&
               (PyArray_DIM(a, d) <= 1 || PyArray_STRIDE(a, d) == PyArray_STRIDE(b, d));
    }
    return same;
}

int gm_check_overlap(const gm_family *family, PyArrayObject *out, PyArrayObject *const *inputs)
{
    for (int i = 0; i < family->input_count; i++) {
        const gm_operand *operand = &family->inputs[i];
        if (!inputs[i] || (operand->may_be_out && is_same(inputs[i], out))) {
            continue;
        }
        int overlaps = gm_overlaps(out, inputs[i]);
        if (overlaps > 0) {
            PyErr_Format(PyExc_ValueError, "out overlaps %s in memory%s", operand->name,
                         operand->may_be_out ? " without being the same array" : "");
        }
        if (overlaps != 0) {
            return -1;
        }
    }
    return 0;
}

PyArray_Descr *gm_result_dtype(const gm_family *family, PyArrayObject *first)
{
    return family->result_kind ? gm_plain_dtype(family->result_kind, family->result_bytes)
                               : (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR(first));
}

int gm_check_call_out(const gm_call *call, PyArrayObject *out, PyArrayObject *const *inputs)
{
    PyArray_Descr *dtype = gm_result_dtype(call->family, inputs[0]);
    if (!dtype) {
        return -1;
    }
    int checked = gm_check_out(out, dtype, call->out.ndim, call->out.shape);
    Py_DECREF(dtype);
    return checked < 0 ? -1 : gm_check_overlap(call->family, out, inputs);
}
