/* copy: from two layouts to the axes that they have in common. */
#include "copy/plan_views.h"

#include "near.h"

typedef struct axis {
    int64_t extent, from, to; /* from and to: bytes from one to the next */
} axis;

typedef struct layout {
    const char *in;
    char *out;
    int ndim;
    axis axes[GM_MAX_DIMS + 1]; /* the outermost first; the last one is the bytes of an element */
} layout;

/* An axis that runs backwards in the result begins at its other end. The others are sorted by their
 * strides in the result, so that neighbours are stored side by side. */
static void insert(layout *l, axis new)
{
    if (new.to < 0) {
        l->in += (new.extent - 1) * new.from;
        l->out += (new.extent - 1) * new.to;
        new.from = -new.from;
        new.to = -new.to;
    }
    int at = l->ndim++;
    for (; at > 0 && l->axes[at - 1].to < new.to; at--) {
        l->axes[at] = l->axes[at - 1];
    }
    l->axes[at] = new;
}

static void merge(layout *l)
{
    int last = 0;
    for (int d = 1; d < l->ndim; d++) {
        axis *outer = &l->axes[last], inner = l->axes[d];
        if (outer->from == inner.extent * inner.from && outer->to == inner.extent * inner.to) {
            *outer = (axis){outer->extent * inner.extent, inner.from, inner.to};
        } else {
            l->axes[++last] = inner;
        }
    }
    l->ndim = last + 1;
}

/* The axes of the elements, sorted. */
static void pair(const gm_array *in, const gm_array *out, layout *l)
{
    l->in = in->data;
    l->out = out->data;
    l->ndim = 0;
    for (int d = 0; d < in->ndim; d++) {
        if (in->shape[d] != 1) {
            insert(l, (axis){in->shape[d], in->strides[d], out->strides[d]});
        }
    }
}

/* Down to bytes, and merged. */
static void fold(const gm_call *call, layout *l)
{
    pair(&call->in[0], &call->out, l);
    l->axes[l->ndim++] = (axis){call->in[0].itemsize, 1, 1};
    merge(l);
}

int copy_count_axes(const gm_call *call)
{
    layout l;
    fold(call, &l);
    return l.ndim;
}

/* Folded, in the widest units that the innermost run and every address allow; returns their bytes.
 */
static int divide(const gm_call *call, layout *l)
{
    fold(call, l);
    axis *run = &l->axes[l->ndim - 1];
    uintptr_t bits = (uintptr_t)l->in | (uintptr_t)l->out | (uintptr_t)run->extent;
    for (int d = 0; d < l->ndim - 1; d++) {
        bits |= (uintptr_t)l->axes[d].from | (uintptr_t)l->axes[d].to;
    }
    const int width = gm_width_dividing(bits);
    *run = (axis){run->extent / width, width, width};
    l->ndim -= run->extent == 1 && l->ndim > 1; /* a run of a single unit needs no axis */
    return width;
}

void copy_plan_strided(const gm_call *call, copy_strided_args *args)
{
    layout l;
    const int width = divide(call, &l);
    *args = (copy_strided_args){
        .in = l.in,
        .out = l.out,
        .units = call->in[0].bytes / width,
        .width = width,
        .ndim = l.ndim,
    };
    for (int d = 0; d < l.ndim; d++) {
        args->extent[d] = l.axes[d].extent;
        args->stride[d] = l.axes[d].from;
    }
}

/* No more axes than COPY_MAX_DIMS. */
static void fill(const layout *l, int64_t units, copy_scatter_args *args)
{
    *args = (copy_scatter_args){.in = l->in, .out = l->out, .units = units, .ndim = l->ndim};
    int64_t reach_from = 0, reach_to = units > INT32_MAX ? units : 0;
    for (int d = 0; d < l->ndim; d++) {
        reach_from = gm_reach(reach_from, l->axes[d].extent, l->axes[d].from);
        reach_to = gm_reach(reach_to, l->axes[d].extent, l->axes[d].to);
        args->from[d] = l->axes[d].from;
        args->to[d] = l->axes[d].to;
        if (units <= INT32_MAX) {
            args->divisor[d] = gm_divisor_of(l->axes[d].extent);
        } else {
            args->extent[d] = l->axes[d].extent;
        }
    }
    args->near = reach_from <= INT32_MAX && reach_to <= INT32_MAX;
}

void copy_plan_scatter(const gm_call *call, copy_scatter_args *args)
{
    layout l;
    const int width = divide(call, &l);
    fill(&l, call->in[0].bytes / width, args);
    args->width = width;
}

gm_status copy_plan_elements(const gm_array *in, const gm_array *out, copy_scatter_args *args)
{
    layout l;
    pair(in, out, &l);
    if (l.ndim == 0) {
        l.axes[l.ndim++] = (axis){1, 0, 0};
    }
    merge(&l);
    if (l.ndim > COPY_MAX_DIMS) {
        return gm_fail(GM_ERROR_VALUE,
                       "the array has %d dimensions that cannot be merged into fewer, at most %d "
                       "are converted",
                       l.ndim, COPY_MAX_DIMS);
    }
    fill(&l, in->size, args);
    return GM_OK;
}
