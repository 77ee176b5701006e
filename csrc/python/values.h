/* Arguments that are not arrays: text, numbers, shapes, dtypes, attributes, backends. */
#ifndef GPUMEM_PYTHON_VALUES_H
#define GPUMEM_PYTHON_VALUES_H

#include "python/python.h"

/* Functions that return an int return 0, or -1 with an exception, unless said otherwise. */

/* The text of a str; NULL and an exception if it holds a null character. */
const char *gm_c_string(PyObject *text, const char *name);
/* A new reference to an attribute; *value is NULL if there is none. */
int gm_optional_attribute(PyObject *object, const char *name, PyObject **value);
/* The same for a name that is a str already. */
int gm_find_attribute(PyObject *object, PyObject *name, PyObject **value);
/* 1 or 0; -1 with the exception of a property, which PyObject_HasAttrString would clear. */
int gm_has_attribute(PyObject *object, const char *name);
/* An int or an object with __index__, but not a bool and not a device array. */
bool gm_is_integer(PyObject *object);
/* Has the message of an exception of Python or NumPy begin with the argument that it is about. */
void gm_name_error(const char *name, PyObject *object);
/* Truth: 1 or 0, or -1 with an exception. */
int gm_parse_flag(PyObject *object, const char *name);
/* "O&" converters like NumPy's, whose messages name the argument and stay short. */
int gm_dtype_converter(PyObject *object, void *dtype);
int gm_order_converter(PyObject *object, void *order);
/* An int or a sequence of ints; the caller frees shape->ptr. */
int gm_parse_shape(PyObject *object, PyArray_Dims *shape);
/* _core.pack_bytes, described in _core.pyi. */
PyObject *gm_core_pack_bytes(PyObject *module, PyObject *const *args, Py_ssize_t count);
/* Bytes of an array that move at a time, from 0, the default; also for NULL. */
int gm_parse_chunk(PyObject *object, int64_t *chunk);
/* None and NULL mean the preferred backend. */
int gm_parse_backend(PyObject *object, const gm_backend **backend);
/* For a function whose only argument is backend; the format is PyArg_Parse's. */
int gm_parse_only_backend(PyObject *args, PyObject *keywords, const char *format,
                          const gm_backend **backend);

#endif
