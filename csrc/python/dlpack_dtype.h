/* DLPack's codes of dtypes, in both directions. */
#ifndef GPUMEM_DLPACK_DTYPE_H
#define GPUMEM_DLPACK_DTYPE_H

#include "python/python.h"
#include <dlpack/dlpack.h>

/* The dtype of elements like these, a new reference; NULL and a TypeError, which names the array,
 * if there is none. bfloat16 and the floats of 8 bits are those of ml_dtypes. */
PyArray_Descr *gm_dlpack_dtype(DLDataType elements, const char *name);
/* DLPack's code of a dtype; -1 and a BufferError if it has none. */
int gm_dlpack_code(PyArray_Descr *dtype);

#endif
