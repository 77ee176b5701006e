/* a[offset::stride], with NumPy's meaning, and the blocks that move it. */
#ifndef GPUMEM_SLICE_H
#define GPUMEM_SLICE_H

#include "gpumem.h"

/* The parameters of strided_read and strided_write. */
enum { GM_SLICE_OFFSET, GM_SLICE_STRIDE, GM_SLICE_THREADS, GM_SLICE_PARAMETERS };
extern const gm_parameter gm_slice_parameters[GM_SLICE_PARAMETERS];

typedef struct gm_slice {
    int64_t start, step, count; /* element k is at start + k * step */
} gm_slice;

/* Of an array of `length` elements. A stride of 0 is an error. */
gm_status gm_slice_of(int64_t length, int64_t offset, int64_t stride, gm_slice *slice);

/* Does a slice of `array` run on in memory, so that copy has the widest accesses for it? */
bool gm_slice_is_copy(const gm_slice *slice, const gm_array *array);

/* Bytes from one element of a slice of `array` to the next, as a positive number. */
int64_t gm_slice_stride(const gm_slice *slice, const gm_array *array);

/* The threads of a block that the call asks for; 0: the variant's own. */
int64_t gm_slice_threads(const gm_call *call);

/* Is that a number of whole warps? */
gm_status gm_slice_check_threads(const gm_call *call);

/* The takes hook of rows without a kernel: their blocks are another family's. */
gm_status gm_slice_takes_no_threads(const gm_variant *variant, const gm_call *call);

/* The grid for `units` elements, in blocks of as many threads as the call asks for. */
void gm_slice_plan_blocks(const gm_variant *variant, const gm_call *call, int64_t units,
                          gm_plan *plan);

#endif
