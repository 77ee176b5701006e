/* Launch hooks of the rows in ladder.def that have no kernel of their own. */
#ifndef GPUMEM_SGEMM_LAUNCHES_H
#define GPUMEM_SGEMM_LAUNCHES_H

#include "gpumem.h"

gm_status sgemm_cublas_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#endif
