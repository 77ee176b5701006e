/* permute: from a call to its folded axes. */
#include "permute/plan_layout.h"

#include "permute/axes.h"

gm_status permute_read_axes(const gm_call *call, int *axes)
{
    const gm_array *in = &call->in[0];
    int count = 0;
    while (count < GM_MAX_DIMS && permute_axis_of(call, count) != PERMUTE_NO_AXIS) {
        count++;
    }
    if (count == 0) { /* none given: all, the last one first */
        for (int d = 0; d < in->ndim; d++) {
            axes[d] = in->ndim - 1 - d;
        }
        return GM_OK;
    }
    /* An array without axes has one permutation, that of none of them. */
    if (count == 1 && permute_axis_of(call, 0) == PERMUTE_EMPTY) {
        count = 0;
    }
    if (count != in->ndim) {
        return gm_fail(GM_ERROR_VALUE, "axes has %d number%s, a has %d dimension%s", count,
                       GM_PLURAL(count), in->ndim, GM_PLURAL(in->ndim));
    }
    uint64_t seen = 0;
    for (int d = 0; d < count; d++) {
        int given = permute_axis_of(call, d), axis = given < 0 ? given + in->ndim : given;
        if (axis < 0 || axis >= in->ndim) {
            return gm_fail(GM_ERROR_VALUE, "axes[%d] is %d, a has %d dimension%s", d, given,
                           in->ndim, GM_PLURAL(in->ndim));
        }
        if (seen >> axis & 1) {
            return gm_fail(GM_ERROR_VALUE, "axes[%d] is %d, which axes has twice", d, given);
        }
        seen |= (uint64_t)1 << axis;
        axes[d] = axis;
    }
    return GM_OK;
}

/* In runs of bytes, the innermost first. */
static void merge(const gm_array *in, const gm_array *out, const int *axes, permute_layout *layout)
{
    int64_t *extent = layout->extent, *from = layout->from, *to = layout->to;
    int last = 0;
    extent[0] = in->itemsize;
    from[0] = to[0] = 1;
    for (int d = in->ndim - 1; d >= 0; d--) {
        int64_t here = in->shape[axes[d]], stride = in->strides[axes[d]];
        if (here == 1) {
            continue;
        }
        int64_t next = extent[last] * to[last], there = out->contiguous ? next : out->strides[d];
        if (stride == extent[last] * from[last] && there == next) {
            extent[last] *= here;
        } else {
            last++;
            extent[last] = here;
            from[last] = stride;
            to[last] = there;
        }
    }
    layout->ndim = last + 1;
}

/* Bytes become units. A run of one unit needs no axis, unless there is no other. */
static void divide(permute_layout *layout)
{
    int unit = layout->unit, gone = 0;
    layout->extent[0] /= unit;
    layout->from[0] = layout->to[0] = unit;
    if (layout->extent[0] == 1 && layout->ndim > 1) {
        gone = 1;
        layout->ndim--;
    }
    layout->units = 1;
    for (int d = 0; d < layout->ndim; d++) {
        layout->extent[d] = layout->extent[d + gone];
        layout->from[d] = layout->from[d + gone];
        layout->to[d] = layout->to[d + gone];
        layout->units *= layout->extent[d];
    }
}

void permute_fold(const gm_call *call, int most, permute_layout *layout)
{
    const gm_array *in = &call->in[0];
    int axes[GM_MAX_DIMS];
    (void)permute_read_axes(call, axes); /* which result() has checked */
    merge(in, &call->out, axes, layout);
    layout->in = in->data;
    layout->out = call->out.data;
    uintptr_t bits = (uintptr_t)layout->in | (uintptr_t)layout->out | (uintptr_t)layout->extent[0] |
                     (uintptr_t)most;
    for (int d = 1; d < layout->ndim; d++) {
        bits |= (uintptr_t)layout->from[d] | (uintptr_t)layout->to[d];
    }
    layout->unit = gm_width_dividing(bits);
    divide(layout);
}

bool permute_is_contiguous(const gm_call *call)
{
    permute_layout layout;
    if (call->in[0].bytes == 0) {
        return true;
    }
    permute_fold(call, PERMUTE_WIDEST, &layout);
    return layout.ndim == 1 && layout.from[0] == layout.unit;
}

gm_status permute_takes_axes(const gm_variant *variant, const gm_call *call, int unit, int most)
{
    permute_layout layout;
    if (call->in[0].bytes == 0) {
        return GM_OK;
    }
    permute_fold(call, unit, &layout);
    if (layout.ndim <= most) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "a has %d dimensions that cannot be merged into fewer, variant %s takes at most "
                   "%d",
                   layout.ndim, variant->name, most);
}

gm_status permute_takes_rows(const gm_variant *variant, const permute_layout *layout)
{
    bool forwards = layout->to[0] == layout->unit;
    for (int d = 1; d < layout->ndim; d++) {
        forwards = forwards && layout->to[d] > 0;
    }
    return forwards ? GM_OK
                    : gm_fail(GM_ERROR_VALUE,
                              "variant %s needs an out whose rows run on in memory, one behind the "
                              "other",
                              variant->name);
}

void permute_turn(permute_layout *layout)
{
    for (int d = 0; d < layout->ndim; d++) {
        if (layout->from[d] < 0 && -layout->from[d] < layout->to[d]) {
            layout->in += (layout->extent[d] - 1) * layout->from[d];
            layout->out += (layout->extent[d] - 1) * layout->to[d];
            layout->from[d] = -layout->from[d];
            layout->to[d] = -layout->to[d];
        }
    }
}

void permute_fold_turned(const gm_call *call, int most, permute_layout *layout)
{
    permute_fold(call, most, layout);
    permute_turn(layout);
}

gm_status permute_takes_turned(const gm_variant *variant, const gm_call *call,
                               permute_layout *layout)
{
    permute_fold(call, PERMUTE_WIDEST, layout);
    gm_status status = permute_takes_rows(variant, layout);
    permute_turn(layout);
    return status;
}

gm_status permute_takes_unit(const gm_variant *variant, const permute_layout *layout, int unit)
{
    return layout->unit == unit
               ? GM_OK
               : gm_fail(GM_ERROR_VALUE,
                         "variant %s moves units of %d byte%s; what axes move of a are units of %d",
                         variant->name, unit, GM_PLURAL(unit), layout->unit);
}

void permute_join_axes(permute_layout *layout, int d, int next)
{
    layout->extent[d] *= layout->extent[next];
    layout->ndim--;
    for (int i = next; i < layout->ndim; i++) {
        layout->extent[i] = layout->extent[i + 1];
        layout->from[i] = layout->from[i + 1];
        layout->to[i] = layout->to[i + 1];
    }
}

int permute_any_instance(const gm_call *call, int row)
{
    const gm_family *family = call->family;
    const gm_variant *of = gm_row(call, row);
    int found = row + 1;
    for (int i = family->count - 1; i > row; i--) {
        const bool takes = family->variants[i].itemsizes >> call->in[0].itemsize & 1;
        found = family->variants[i].row == of && takes ? i : found;
    }
    return found;
}

void permute_memory(const permute_layout *layout, const char **begin, const char **end)
{
    *begin = *end = layout->in;
    for (int d = 0; d < layout->ndim; d++) {
        int64_t reach = (layout->extent[d] - 1) * layout->from[d];
        *(reach < 0 ? begin : end) += reach;
    }
    *end += layout->unit;
}

permute_divisor permute_divisor_of(int64_t by)
{
    return gm_divisor_of(by);
}

bool permute_reads_next_within(const permute_layout *layout, double run, int64_t bytes)
{
    for (int d = 1; d < layout->ndim; d++) {
        if ((double)permute_magnitude(layout->from[d]) < 2 * run &&
            permute_magnitude(layout->to[d]) <= bytes) {
            return true;
        }
    }
    return false;
}

bool permute_has_small_matrices(const permute_layout *layout)
{
    enum { ROWS = 20, MATRIX = 6 << 10 /* bytes */, LINE = 128 };
    const int64_t row = permute_magnitude(layout->from[0]);
    return layout->ndim > 1 && layout->from[1] == layout->unit && layout->extent[0] <= ROWS &&
           row == layout->extent[1] * layout->unit && layout->extent[0] * row <= MATRIX &&
           row % LINE != 0;
}
