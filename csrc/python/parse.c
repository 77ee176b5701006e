/* Which family and variant, with which numbers and arrays. */
#include <stdio.h>
#include <string.h>

#include "python/bind.h"

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
    if (!gm_is_integer(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be an int, not %.100s", parameter->name,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    PyObject *index = PyNumber_Index(value);
    if (!index) {
        return -1;
    }
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if (overflow || number < parameter->least || number > parameter->most) {
        PyErr_Format(PyExc_ValueError, "%s is %.80S, expected %lld to %lld", parameter->name, value,
                     (long long)parameter->least, (long long)parameter->most);
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

/* ---- inputs ------------------------------------------------------------------------------- */

int gm_count_required(const gm_family *family)
{
    int count = family->input_count;
    while (count > 0 && family->inputs[count - 1].optional) {
        count--;
    }
    return count;
}

PyObject *gm_given(const gm_family *family, PyObject *inputs, int i)
{
    PyObject *object = i < PyTuple_GET_SIZE(inputs) ? PyTuple_GET_ITEM(inputs, i) : Py_None;
    return object == Py_None && family->inputs[i].optional ? NULL : object;
}
