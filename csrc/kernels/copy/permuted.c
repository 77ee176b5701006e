/*
 * copy / permuted: a view, of any layout.
 *
 * A copy of a view is a permutation of its axes that leaves them where they are: the family permute
 * has kernels for what is closest in memory, wherever it is in the view.
 */
#include "copy/launches.h"
#include "permute/axes.h"

static gm_call as_permutation(const gm_call *call)
{
    gm_call permutation = *call;
    int axes[GM_MAX_DIMS];
    for (int d = 0; d < call->in[0].ndim; d++) {
        axes[d] = d;
    }
    permutation.family = gm_find_family("permute");
    permutation.variant = NULL;
    permute_set_axes(&permutation, axes, call->in[0].ndim);
    return permutation;
}

gm_status copy_takes_permuted(const gm_variant *variant, const gm_call *call)
{
    gm_call permutation = as_permutation(call);
    if (!call->out.contiguous) {
        return gm_fail(GM_ERROR_VALUE, "out has gaps, variant %s writes none", variant->name);
    }
    return gm_variant_takes(permutation.family->choose(&permutation), &permutation);
}

gm_status copy_permuted_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_variant *chosen = NULL;
    gm_call permutation = as_permutation(call);
    (void)variant;
    gm_status status = gm_prepare(&chosen, &permutation, plan);
    return status == GM_OK ? gm_launch(chosen, &permutation, plan) : status;
}
