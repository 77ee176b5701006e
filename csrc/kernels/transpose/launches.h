/* What rows of the ladder without a kernel do instead. */
#ifndef GPUMEM_TRANSPOSE_LAUNCHES_H
#define GPUMEM_TRANSPOSE_LAUNCHES_H

#include "gpumem.h"

gm_status transpose_geam_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan);
gm_status transpose_strided_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#endif
