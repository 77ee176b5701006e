/* Checks, descriptions and copies of ndarrays, among them the layouts of device arrays. */
#ifndef GPUMEM_PYTHON_ARRAYS_H
#define GPUMEM_PYTHON_ARRAYS_H

#include "python/python.h"

/* Functions that return an int return 0, or -1 with an exception, unless said otherwise. */

/* Looks up the functions of NumPy that have no C API. */
int gm_arrays_init(void);
/* The dtype has to be plain bytes in native order. */
int gm_check_dtype(PyArray_Descr *dtype, const char *name);
/* NumPy's own dtype of a kind ('b', 'i', 'u', 'f' or 'c') and size, a new reference; NULL without
 * an exception if there is none. */
PyArray_Descr *gm_plain_dtype(char kind, int bytes);
/* No strings of 0 bytes, which NumPy would take for strings of one character. */
int gm_check_sized(PyArray_Descr *dtype, const char *name);
/* Refuses a masked array, whose elements mean nothing without the mask, with a TypeError. Other
 * subclasses of ndarray are used as the plain array of their elements. Takes any object. */
int gm_check_unmasked(PyObject *object, const char *name);
/* out must have this dtype and shape. */
int gm_check_out(PyArrayObject *out, PyArray_Descr *dtype, int ndim, const int64_t *shape);
/* The bytes of an array of this dtype and shape, whose dimensions may not be negative. */
int gm_count_bytes(PyArray_Descr *dtype, int ndim, const npy_intp *shape, int64_t *bytes);
/* 1 if the arrays share a byte, else 0. Exact, unless that is too hard to decide: after a fixed
 * number of steps the answer is 1. */
int gm_overlaps(PyArrayObject *a, PyArrayObject *b);
/* Elements of an array that is written to may not share memory: a ValueError names it. Layouts
 * whose axes interleave are refused as well. */
int gm_check_apart(PyArrayObject *array, const char *name);
/* The array itself or a copy in C order, with every byte, padding of structures included; a new
 * reference. */
PyArrayObject *gm_contiguous(PyArrayObject *array);
/* to[...] = from, with every byte; the dtypes are equivalent. */
int gm_copy_into(PyArrayObject *to, PyArrayObject *from);
/* Describes an array in memory of this kind. */
void gm_describe(PyArrayObject *array, gm_memory_kind memory, gm_array *described);

#endif
