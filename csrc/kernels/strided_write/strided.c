/* strided_write / strided: a slice without steps is written by a copy, any other by `any`. */
#include "slice.h"
#include "strided_write/launches.h"

enum { OUT, A };

gm_status strided_write_strided_launch(const gm_variant *variant, const gm_call *call,
                                       gm_plan *plan)
{
    const gm_variant *chosen = NULL;
    gm_call other = *call;
    gm_array *out = &other.in[OUT];
    gm_slice slice;
    (void)variant;
    gm_status status = gm_slice_of(out->shape[0], call->parameters[0].integer,
                                   call->parameters[1].integer, &slice);
    if (status != GM_OK) {
        return status;
    }
    other.variant = NULL;
    if (slice.step * out->strides[0] == out->itemsize) {
        other.family = gm_find_family("copy");
        other.parameters[0].integer = 0; /* as many blocks as it likes */
        other.out = call->in[A];
        other.out.data = out->data + slice.start * out->strides[0];
        other.out.strides[0] = out->itemsize;
        other.out.contiguous = true;
        other.in[0] = call->in[A];
    } else {
        chosen = gm_find_variant(call->family, "any");
    }
    status = gm_prepare(&chosen, &other, plan);
    return status == GM_OK ? gm_launch(chosen, &other, plan) : status;
}
