/*
 * copy / permuted: a view, of any layout.
 *
 * A copy of a view is a permutation of its axes that leaves them where they are: the family permute
 * has kernels for what is closest in memory, wherever it is in the view.
 */
#include <stdlib.h>

#include "copy/launches.h"
#include "permute/axes.h"

/* Where an axis of the result is in its order in memory: behind those with longer strides. */
static void sort(const gm_array *out, int *axes)
{
    for (int d = 0; d < out->ndim; d++) {
        int at = d;
        const int64_t stride = llabs(out->strides[d]);
        for (; at > 0 && llabs(out->strides[axes[at - 1]]) < stride; at--) {
            axes[at] = axes[at - 1];
        }
        axes[at] = d;
    }
}

/* A result that is not in order, from its first byte in memory on: axes that run backwards are
 * turned around on both sides. It is contiguous in that order, or has gaps. */
static void put_in_order(const gm_call *call, gm_call *permutation)
{
    gm_array *in = &permutation->in[0], *out = &permutation->out;
    int axes[GM_MAX_DIMS];
    sort(&call->out, axes);
    for (int d = 0; d < out->ndim; d++) {
        const int axis = axes[d];
        const int64_t last = call->out.shape[axis] - 1;
        const bool backwards = call->out.strides[axis] < 0;
        in->shape[d] = out->shape[d] = call->out.shape[axis];
        in->strides[d] = call->in[0].strides[axis];
        out->strides[d] = call->out.strides[axis];
        if (backwards) {
            in->data = (char *)in->data + last * in->strides[d];
            out->data = (char *)out->data + last * out->strides[d];
            in->strides[d] = -in->strides[d];
            out->strides[d] = -out->strides[d];
        }
    }
    int64_t next = out->itemsize;
    out->contiguous = true;
    for (int d = out->ndim - 1; d >= 0; d--) {
        out->contiguous = out->contiguous && (out->shape[d] == 1 || out->strides[d] == next);
        next *= out->shape[d];
    }
    in->contiguous = false; /* or nothing has to be put in order */
}

static void as_permutation(const gm_call *call, gm_call *permutation)
{
    int axes[GM_MAX_DIMS];
    for (int d = 0; d < call->in[0].ndim; d++) {
        axes[d] = d;
    }
    gm_begin_like(call, "permute", permutation);
    permutation->in[0] = call->in[0];
    permutation->out = call->out;
    if (!call->out.contiguous && call->out.size > 0) {
        put_in_order(call, permutation);
    }
    permute_set_axes(permutation, axes, call->in[0].ndim);
}

gm_status copy_takes_permuted(const gm_variant *variant, const gm_call *call)
{
    gm_call permutation;
    as_permutation(call, &permutation);
    const gm_status status =
        gm_variant_takes(permutation.family->choose(&permutation), &permutation);
    if (status != GM_OK && !permutation.out.contiguous) {
        return gm_fail(GM_ERROR_VALUE,
                       "out has gaps, between which variant %s writes rows, or tiles of what is "
                       "closest in a",
                       variant->name);
    }
    return status;
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
