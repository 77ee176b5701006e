/*
 * permute / units: elements that are moved in units of another size, as pairs of halves that stay
 * together, or numbers of 3 bytes. The array is seen as one of such units, in the order of the
 * result, for kernels that take these only.
 */
#include "permute/axes.h"
#include "permute/launches.h"
#include "permute/plan_layout.h"

static void set_units(const gm_call *call, gm_call *units)
{
    permute_layout layout;
    int axes[GM_MAX_DIMS];
    permute_fold(call, PERMUTE_WIDEST, &layout);
    gm_array array = {
        .itemsize = layout.unit,
        .size = layout.units,
        .bytes = layout.units * layout.unit,
        .ndim = layout.ndim,
        .kind = 'V',
        .memory = call->in[0].memory,
    };
    gm_begin_like(call, "permute", units);
    units->in[0] = units->out = array;
    units->in[0].data = (char *)layout.in;
    units->out.data = layout.out;
    units->out.contiguous = true;
    for (int d = 0; d < layout.ndim; d++) {
        int from_the_end = layout.ndim - 1 - d;
        units->in[0].shape[d] = units->out.shape[d] = layout.extent[from_the_end];
        units->in[0].strides[d] = layout.from[from_the_end];
        units->out.strides[d] = layout.to[from_the_end];
        axes[d] = d;
    }
    permute_set_axes(units, axes, layout.ndim);
}

gm_status permute_units_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_variant *chosen = NULL;
    gm_call units;
    (void)variant;
    set_units(call, &units);
    gm_status status = gm_prepare(&chosen, &units, plan);
    return status == GM_OK ? gm_launch(chosen, &units, plan) : status;
}
