/* strided_read / strided: any layout and any element, as a copy of the view. */
#include "slice.h"
#include "strided_read/launches.h"

gm_status strided_read_strided_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    gm_array in = call->in[0];
    gm_slice slice;
    (void)variant;
    gm_status status = gm_slice_of(in.shape[0], call->parameters[GM_SLICE_OFFSET].integer,
                                   call->parameters[GM_SLICE_STRIDE].integer, &slice);
    if (status != GM_OK) {
        return status;
    }
    in.data += slice.start * in.strides[0];
    in.shape[0] = slice.count;
    in.strides[0] *= slice.step;
    in.size = slice.count;
    in.bytes = slice.count * in.itemsize;
    in.contiguous = slice.count <= 1 || in.strides[0] == in.itemsize;
    return gm_launch_copy(call, &in, &call->out, plan);
}
