/* transpose / geam: cuBLAS' matrix addition, C = 1 * transpose(A) + 0 * C, as the reference. */
#include "backend/cublas.h"
#include "transpose/launches.h"
#include "transpose/transpose.h"

gm_status transpose_geam_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    (void)variant;
    const transpose_args *args = (const transpose_args *)plan->args;
    return gm_cublas_transpose(args->itemsize, args->rows, args->cols, args->in, args->pitch,
                               args->out, call->stream);
}
