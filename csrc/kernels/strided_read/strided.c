/* strided_read / strided: any layout and any element, as a copy of the view. */
#include "slice.h"
#include "strided_read/launches.h"

gm_status strided_read_strided_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_variant *chosen = NULL;
    gm_call copy = *call;
    gm_array *in = &copy.in[0];
    gm_slice slice;
    (void)variant;
    gm_status status =
        gm_slice_of(in->shape[0], call->parameters[0].integer, call->parameters[1].integer, &slice);
    if (status != GM_OK) {
        return status;
    }
    copy.family = gm_find_family("copy");
    copy.variant = NULL;
    copy.parameters[0].integer = 0; /* as many blocks as it likes */
    in->data += slice.start * in->strides[0];
    in->shape[0] = slice.count;
    in->strides[0] *= slice.step;
    in->size = slice.count;
    in->bytes = slice.count * in->itemsize;
    in->contiguous = slice.count <= 1 || in->strides[0] == in->itemsize;
    status = gm_prepare(&chosen, &copy, plan);
    return status == GM_OK ? gm_launch(chosen, &copy, plan) : status;
}
