/*
 * transpose / strided: any layout and any element, and stacks of matrices.
 *
 * Exchanging the strides of a matrix costs nothing; the copy family copies that view. The view of a
 * matrix that is itself a transposed view is contiguous. The matrices of a stack are transposed by
 * the family permute.
 */
#include "permute/axes.h"
#include "transpose/launches.h"

static gm_status launch_stack(const gm_call *call, gm_plan *plan)
{
    const gm_variant *chosen = NULL;
    gm_call stack = *call;
    int axes[GM_MAX_DIMS], last = call->in[0].ndim - 1;
    for (int d = 0; d <= last; d++) {
        axes[d] = d < last - 1 ? d : 2 * last - 1 - d;
    }
    stack.family = gm_find_family("permute");
    stack.variant = NULL;
    permute_set_axes(&stack, axes, last + 1);
    gm_status status = gm_prepare(&chosen, &stack, plan);
    return status == GM_OK ? gm_launch(chosen, &stack, plan) : status;
}

gm_status transpose_strided_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    gm_array in = call->in[0];
    (void)variant;
    if (in.ndim > 2) {
        return launch_stack(call, plan);
    }
    for (int d = 0; d < 2; d++) {
        in.shape[d] = call->in[0].shape[1 - d];
        in.strides[d] = call->in[0].strides[1 - d];
    }
    in.contiguous = gm_rows_contiguous(&in) && (in.shape[0] <= 1 || in.shape[1] == 0 ||
                                                in.strides[0] == in.shape[1] * in.itemsize);
    return gm_launch_copy(call, &in, &call->out, plan);
}
