/* What rows of the ladder without a kernel do instead. */
#ifndef GPUMEM_PERMUTE_LAUNCHES_H
#define GPUMEM_PERMUTE_LAUNCHES_H

#include "gpumem.h"

gm_status permute_contiguous_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan);

gm_status permute_takes_matrix(const gm_variant *variant, const gm_call *call);
gm_status permute_matrix_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan);

gm_status permute_units_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#endif
