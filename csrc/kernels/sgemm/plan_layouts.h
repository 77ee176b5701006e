/* The layouts of matrices that sgemm's kernels take. */
#ifndef GPUMEM_SGEMM_PLAN_LAYOUTS_H
#define GPUMEM_SGEMM_PLAN_LAYOUTS_H

#include "gpumem.h"

/* Aligned, with contiguous rows? */
bool sgemm_suits_rows(const gm_array *matrix);
/* Or with contiguous columns? */
bool sgemm_suits_factor(const gm_array *matrix);
/* Describes a matrix whose columns are contiguous as its transpose, whose rows are, and changes
 * `transposed`; false if neither are. */
bool sgemm_as_rows(gm_array *matrix, gm_value *transposed);
/* Elements from one to the next along an axis; on an axis of one it does not matter. */
int64_t sgemm_stride_along(const gm_array *matrix, int axis);
/* Do vectors fit from row to row, as they do within? */
bool sgemm_has_vectors(const gm_array *matrix);

#endif
