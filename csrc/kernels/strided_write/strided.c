/* strided_write / strided: a slice without steps is written by a copy, any other by `any`. */
#include "slice.h"
#include "strided_write/launches.h"

#define GM_FAMILY strided_write
#define GM_LADDER "strided_write/ladder.def"
#include "rows.h"

enum { OUT, A };

gm_status strided_write_strided_launch(const gm_variant *variant, const gm_call *call,
                                       gm_plan *plan)
{
    const gm_variant *any = gm_row(call, strided_write_row_any);
    const gm_array *out = &call->in[OUT];
    gm_array part = call->in[A];
    gm_slice slice;
    (void)variant;
    gm_status status = gm_slice_of(out->shape[0], call->parameters[GM_SLICE_OFFSET].integer,
                                   call->parameters[GM_SLICE_STRIDE].integer, &slice);
    if (status == GM_OK && slice.step * out->strides[0] == out->itemsize) {
        part.data = out->data + slice.start * out->strides[0];
        part.strides[0] = part.itemsize;
        part.contiguous = true;
        return gm_launch_copy(call, &call->in[A], &part, plan);
    }
    status = status == GM_OK ? gm_prepare(&any, call, plan) : status;
    return status == GM_OK ? gm_launch(any, call, plan) : status;
}
