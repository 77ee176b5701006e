/*
 * transpose / strided: any layout and any element, as a copy of the transposed view.
 *
 * Exchanging the strides of the last two axes costs nothing; the copy family copies that view. Of a
 * matrix that is itself a transposed view it is contiguous.
 */
#include "transpose/launches.h"

gm_status transpose_strided_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *given = &call->in[0];
    gm_array in = *given;
    int last = in.ndim - 1;
    (void)variant;
    for (int d = last - 1; d <= last; d++) {
        in.shape[d] = given->shape[2 * last - 1 - d];
        in.strides[d] = given->strides[2 * last - 1 - d];
    }
    in.contiguous =
        in.ndim == 2 && gm_rows_contiguous(&in) &&
        (in.shape[0] <= 1 || in.shape[1] == 0 || in.strides[0] == in.shape[1] * in.itemsize);
    return gm_launch_copy(call, &in, &call->out, plan);
}
