/*
 * transpose / strided: any layout and any element, as a copy of the turned view.
 *
 * A transpose that exchanges strides costs nothing; what is left is to copy that view, for which
 * there is a family. A matrix that was turned before is found contiguous again.
 */
#include "transpose/launches.h"

static gm_call turned(const gm_call *call)
{
    gm_call copy = *call;
    gm_array *in = &copy.in[0];
    copy.family = gm_find_family("copy");
    copy.variant = NULL;
    copy.parameters[0].integer = 0; /* as many blocks as it likes */
    for (int d = 0; d < 2; d++) {
        in->shape[d] = call->in[0].shape[1 - d];
        in->strides[d] = call->in[0].strides[1 - d];
    }
    in->contiguous = gm_rows_contiguous(in) && (in->shape[0] <= 1 || in->shape[1] == 0 ||
                                                in->strides[0] == in->shape[1] * in->itemsize);
    return copy;
}

gm_status transpose_strided_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_variant *chosen = NULL;
    gm_call copy = turned(call);
    (void)variant;
    gm_status status = gm_prepare(&chosen, &copy, plan);
    return status == GM_OK ? gm_launch(chosen, &copy, plan) : status;
}
