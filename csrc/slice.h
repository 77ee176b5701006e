/* a[offset::stride] as NumPy means it. */
#ifndef GPUMEM_SLICE_H
#define GPUMEM_SLICE_H

#include "gpumem.h"

typedef struct gm_slice {
    int64_t start, step, count; /* element k is at start + k * step */
} gm_slice;

/* Of an array of so many elements. Any offset and stride but stride 0, which is an error. */
gm_status gm_slice_of(int64_t length, int64_t offset, int64_t stride, gm_slice *slice);

/* Is a slice of `array`, to or from the bytes of `other`, which has no gaps, best moved by a copy?
 */
bool gm_slice_is_copy(const gm_slice *slice, const gm_array *array, const gm_array *other);

/* Bytes from one element of a slice of `array` to the next, without their sign. */
int64_t gm_slice_stride(const gm_slice *slice, const gm_array *array);

#endif
