/*
 * permute / contiguous: a permutation that leaves every element where it is.
 *
 * Axes of extent 1 may change places, and views that were permuted may be permuted back: a copy.
 */
#include "permute/launches.h"

gm_status permute_contiguous_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    gm_array in = call->in[0];
    (void)variant;
    in.ndim = call->out.ndim;
    for (int d = 0; d < in.ndim; d++) {
        in.shape[d] = call->out.shape[d];
        in.strides[d] = call->out.strides[d];
    }
    in.contiguous = true;
    return gm_launch_copy(call, &in, &call->out, plan);
}
