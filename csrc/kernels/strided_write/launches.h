/* What rows of the ladder without a kernel do instead. */
#ifndef GPUMEM_STRIDED_WRITE_LAUNCHES_H
#define GPUMEM_STRIDED_WRITE_LAUNCHES_H

#include "gpumem.h"

gm_status strided_write_strided_launch(const gm_variant *variant, const gm_call *call,
                                       gm_plan *plan);

#endif
