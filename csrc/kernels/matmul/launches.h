/* What the row of the ladder without a kernel does instead. */
#ifndef GPUMEM_MATMUL_LAUNCHES_H
#define GPUMEM_MATMUL_LAUNCHES_H

#include "gpumem.h"
#include "matmul/matmul.h"

enum { MATMUL_PRECISION }; /* the family's parameter */

/* Does sgemm take the layouts of these factors? */
bool matmul_suits_sgemm(const gm_call *call, const matmul_args *args);
/* Does sgemm compute them faster, as less precision is asked for than it has by default? */
bool matmul_gains_by_precision(const gm_call *call, const matmul_args *args);
gm_status matmul_sgemm_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#endif
