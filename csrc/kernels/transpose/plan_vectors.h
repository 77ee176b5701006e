/* transpose: the plan of narrow_vectors, and whether it is for an input. */
#ifndef GPUMEM_TRANSPOSE_PLAN_VECTORS_H
#define GPUMEM_TRANSPOSE_PLAN_VECTORS_H

#include "backend/backend.h"
#include "transpose/transpose.h"

gm_status transpose_plan_vectors(const gm_variant *variant, const gm_call *call, gm_plan *plan,
                                 const transpose_args *walk);

/* Of few columns, which have little choice of where their rows are kept: how many passes a warp's
 * loads from shared memory take. */
int transpose_vectors_passes(const gm_call *call);

#endif
