/* What the row of the ladder without a kernel does instead. */
#ifndef GPUMEM_MATMUL_LAUNCHES_H
#define GPUMEM_MATMUL_LAUNCHES_H

#include "gpumem.h"
#include "matmul/matmul.h"

/* Does sgemm take the layouts of these factors? */
bool matmul_suits_sgemm(const gm_call *call, const matmul_args *args);
gm_status matmul_sgemm_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#endif
