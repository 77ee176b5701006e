/* a[offset::stride], with NumPy's meaning. */
#ifndef GPUMEM_SLICE_H
#define GPUMEM_SLICE_H

#include "gpumem.h"

typedef struct gm_slice {
    int64_t start, step, count; /* element k is at start + k * step */
} gm_slice;

/* Of an array of `length` elements. A stride of 0 is an error. */
gm_status gm_slice_of(int64_t length, int64_t offset, int64_t stride, gm_slice *slice);

/* Does a slice of `array` run on in memory, so that copy has the widest accesses for it? */
bool gm_slice_is_copy(const gm_slice *slice, const gm_array *array);

/* Bytes from one element of a slice of `array` to the next, as a positive number. */
int64_t gm_slice_stride(const gm_slice *slice, const gm_array *array);

#endif
