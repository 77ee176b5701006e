/* The launch hooks of variants without a kernel of their own. */
#ifndef GPUMEM_COPY_LAUNCHES_H
#define GPUMEM_COPY_LAUNCHES_H

#include "gpumem.h"

gm_status copy_memcpy_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan);

gm_status copy_takes_permuted(const gm_variant *variant, const gm_call *call);
gm_status copy_permuted_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#endif
