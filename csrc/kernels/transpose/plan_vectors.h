/* transpose: the plan of narrow_vectors, and what it expects of an input. */
#ifndef GPUMEM_TRANSPOSE_PLAN_VECTORS_H
#define GPUMEM_TRANSPOSE_PLAN_VECTORS_H

#include "backend/backend.h"
#include "transpose/transpose.h"

gm_status transpose_plan_vectors(const gm_variant *variant, const gm_call *call, gm_plan *plan,
                                 const transpose_args *walk);

/* Passes of a warp's loads from shared memory, for few columns: rows have few pitches to choose
 * from. */
int transpose_vectors_passes(const gm_call *call);

#endif
