/*
 * transpose / strided: any layout and any element, as a copy of the transposed view.
 *
 * Exchanging the strides costs nothing; the copy family copies that view. The view of a matrix that
 * is itself a transposed view is contiguous.
 */
#include "transpose/launches.h"

gm_status transpose_strided_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    gm_array in = call->in[0];
    (void)variant;
    for (int d = 0; d < 2; d++) {
        in.shape[d] = call->in[0].shape[1 - d];
        in.strides[d] = call->in[0].strides[1 - d];
    }
    in.contiguous = gm_rows_contiguous(&in) && (in.shape[0] <= 1 || in.shape[1] == 0 ||
                                                in.strides[0] == in.shape[1] * in.itemsize);
    return gm_launch_copy(call, &in, &call->out, plan);
}
