/*
 * transpose / strided: any layout and any element, as a copy of the turned view.
 *
 * A transpose that exchanges strides costs nothing; what is left is to copy that view, for which
 * there is a family. A matrix that was turned before is found contiguous again.
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
