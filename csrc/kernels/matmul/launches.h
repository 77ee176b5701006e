/* Launches of rows of the ladder: of those that are described by the family sgemm, and of those
 * whose blocks share the depth. */
#ifndef GPUMEM_MATMUL_LAUNCHES_H
#define GPUMEM_MATMUL_LAUNCHES_H

#include "gpumem.h"
#include "matmul/matmul.h"
#include "matmul/model.h"

enum { MATMUL_PRECISION }; /* the family's parameter */

/* Does sgemm take the layouts of these factors? */
bool matmul_suits_sgemm(const gm_call *call, const matmul_args *args);
/* Does sgemm compute them faster, as less precision is asked for than it has by default? */
bool matmul_gains_by_precision(const gm_call *call, const matmul_args *args);
/* What the model says that sgemm takes. */
double matmul_time_of_sgemm(const matmul_size *size, const matmul_args *args);
gm_status matmul_sgemm_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan);

/* Does the tensor copy engine take these factors? If not, the error says why. */
gm_status matmul_suits_tma(const gm_variant *variant, const gm_call *call, const matmul_args *args);
gm_status matmul_tma_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan);

/* Where blocks share tiles and are no cluster, their sums go to memory of their own, and a launch
 * of `adder` adds them. */
gm_status matmul_launch_shares(const gm_variant *variant, const gm_variant *adder,
                               const gm_call *call, gm_plan *plan);

#endif
