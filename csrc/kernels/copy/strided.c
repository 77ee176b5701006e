/*
 * copy / strided: any layout in, contiguous out.
 *
 * A copy of a view is a permutation of its axes that leaves them where they are.
 */
#include "copy/launches.h"
#include "permute/axes.h"

static gm_call as_permutation(const gm_call *call)
{
    gm_call permutation = *call;
    permutation.family = gm_find_family("permute");
    permutation.variant = NULL;
    permute_set_axes(&permutation, call->in[0].ndim);
    return permutation;
}

gm_status copy_takes_strided(const gm_variant *variant, const gm_call *call)
{
    (void)variant;
    gm_call permutation = as_permutation(call);
    return gm_variant_takes(permutation.family->choose(&permutation), &permutation);
}

gm_status copy_strided_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_variant *chosen = NULL;
    gm_call permutation = as_permutation(call);
    (void)variant;
    gm_status status = gm_prepare(&chosen, &permutation, plan);
    return status == GM_OK ? gm_launch(chosen, &permutation, plan) : status;
}
