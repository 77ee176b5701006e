/*
 * DeviceArray.flags. NumPy's own object of the kind could set them: it would make memory writeable
 * that its owner lent as read-only.
 */
#include "python/device_flags.h"

#include <string.h>

#include "python/device_object.h"
#include "python/errors.h"

typedef struct flags_object {
    PyObject_HEAD int flags; /* NumPy's bits */
} flags_object;

static const struct {
    const char *name, *letter, *attribute;
    int bit;
} known[] = {
    {"C_CONTIGUOUS", "C", "c_contiguous", NPY_ARRAY_C_CONTIGUOUS},
    {"F_CONTIGUOUS", "F", "f_contiguous", NPY_ARRAY_F_CONTIGUOUS},
    {"WRITEABLE", "W", "writeable", NPY_ARRAY_WRITEABLE},
};
enum { KNOWN = sizeof known / sizeof *known };

PyObject *gm_device_flags(PyObject *array, void *unused)
{
    (void)unused;
    flags_object *made = PyObject_New(flags_object, &gm_flags_type);
    if (made) {
        made->flags = PyArray_FLAGS(((gm_device_array *)array)->layout);
    }
    return (PyObject *)made;
}

static PyObject *answer(PyObject *object, int i)
{
    return PyBool_FromLong(((flags_object *)object)->flags & known[i].bit);
}

static PyObject *flags_attribute(PyObject *object, void *name)
{
    int i = 0;
    while (strcmp(known[i].attribute, name) != 0) { /* attributes are those of the table */
        i++;
    }
    return answer(object, i);
}

static PyObject *flags_item(PyObject *object, PyObject *name)
{
    for (int i = 0; PyUnicode_Check(name) && i < KNOWN; i++) {
        if (PyUnicode_CompareWithASCIIString(name, known[i].name) == 0 ||
            PyUnicode_CompareWithASCIIString(name, known[i].letter) == 0) {
            return answer(object, i);
        }
    }
    return gm_raise_about(PyExc_KeyError,
                          "no flag %.80R: there are 'C_CONTIGUOUS', 'F_CONTIGUOUS' and 'WRITEABLE'",
                          name);
}

static PyObject *flags_repr(PyObject *object)
{
    const char *words[KNOWN];
    for (int i = 0; i < KNOWN; i++) {
        words[i] = ((flags_object *)object)->flags & known[i].bit ? "True" : "False";
    }
    return PyUnicode_FromFormat("Flags(c_contiguous=%s, f_contiguous=%s, writeable=%s)", words[0],
                                words[1], words[2]);
}

static PyGetSetDef flags_attributes[] = {
    {"c_contiguous", flags_attribute, NULL, "In C order without gaps?", "c_contiguous"},
    {"f_contiguous", flags_attribute, NULL, "In Fortran's order without gaps?", "f_contiguous"},
    {"writeable", flags_attribute, NULL, "May the array be written to?", "writeable"},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMappingMethods flags_mapping = {.mp_subscript = flags_item};

PyTypeObject gm_flags_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpumem._core.Flags",
    .tp_basicsize = sizeof(flags_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "The flags of a DeviceArray, by NumPy's names.",
    .tp_repr = flags_repr,
    .tp_as_mapping = &flags_mapping,
    .tp_getset = flags_attributes,
};
