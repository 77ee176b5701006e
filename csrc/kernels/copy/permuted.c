/*
 * copy / permuted: a view, of any layout.
 *
 * A copy of a view is a permutation of its axes that leaves them where they are: the family permute
 * has kernels for what is closest in memory, wherever it is in the view.
 */
#include "copy/launches.h"
#include "permute/axes.h"

static void as_permutation(const gm_call *call, gm_call *permutation)
{
    int axes[GM_MAX_DIMS];
    for (int d = 0; d < call->in[0].ndim; d++) {
        axes[d] = d;
    }
    gm_begin_like(call, "permute", permutation);
    permutation->in[0] = call->in[0];
    permutation->out = call->out;
    permute_set_axes(permutation, axes, call->in[0].ndim);
}

gm_status copy_takes_permuted(const gm_variant *variant, const gm_call *call)
{
    gm_call permutation;
    if (!call->out.contiguous) {
        return gm_fail(GM_ERROR_VALUE, "out has gaps, variant %s writes none", variant->name);
    }
    as_permutation(call, &permutation);
    return gm_variant_takes(permutation.family->choose(&permutation), &permutation);
}

gm_status copy_permuted_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_variant *chosen = NULL;
    gm_call permutation;
    (void)variant;
    as_permutation(call, &permutation);
    gm_status status = gm_prepare(&chosen, &permutation, plan);
    return status == GM_OK ? gm_launch(chosen, &permutation, plan) : status;
}
