/* permute: the plan of pixels. */
#include "permute/plan_pixels.h"

#include "permute/plan_matrices.h"

/* The axes of pixels and of channels, as they are in the result: planes have the pixels inside. */
typedef struct image {
    int pixels, channels;
    bool to_planes;
} image;

static bool as_image(const permute_layout *layout, image *found)
{
    if (layout->ndim < 2 || layout->unit > 4 || layout->to[0] != layout->unit) {
        return false;
    }
    for (int d = 1; d < layout->ndim; d++) {
        const bool channel =
            layout->extent[d] <= PIXELS_MOST && layout->extent[d] <= layout->extent[0];
        if (channel && layout->from[d] == layout->unit &&
            layout->from[0] == layout->extent[d] * layout->unit) {
            *found = (image){.pixels = 0, .channels = d, .to_planes = true};
            return true;
        }
    }
    *found = (image){.pixels = 1, .channels = 0, .to_planes = false};
    return layout->extent[0] <= PIXELS_MOST && layout->from[1] == layout->unit;
}

/* The widest vector that divides the planes and where they, and the pixels, begin; or 0. */
static int vector_of(const permute_layout *layout, const image *of)
{
    uintptr_t bits = (uintptr_t)layout->in | (uintptr_t)layout->out |
                     (uintptr_t)(layout->extent[of->pixels] * layout->unit);
    for (int d = 0; d < layout->ndim; d++) {
        bits |= d == of->pixels ? 0 : (uintptr_t)(of->to_planes ? layout->to[d] : layout->from[d]);
        bits |= d == of->pixels || d == of->channels
                    ? 0
                    : (uintptr_t)(of->to_planes ? layout->from[d] : layout->to[d]);
    }
    return bits % 16 == 0 ? 16 : bits % 4 == 0 ? 4 : 0;
}

bool permute_plan_pixels(const permute_layout *layout, permute_pixels_args *args)
{
    image of;
    if (!as_image(layout, &of)) {
        return false;
    }
    const int vector = vector_of(layout, &of), c = of.channels;
    if (vector == 0 || layout->ndim > PERMUTE_TILES_DIMS + 2) {
        return false;
    }
    const int64_t vectors = layout->extent[of.pixels] * layout->unit / vector;
    const int64_t shares =
        permute_divide_up(vectors, 32 * (vector == 16 ? INT64_C(1) : PIXELS_SPANS));
    const int64_t images = layout->units / layout->extent[0] / layout->extent[of.to_planes ? c : 1];
    if (shares > INT32_MAX / images) {
        return false;
    }
    *args = (permute_pixels_args){
        .in = layout->in,
        .out = layout->out,
        .plane = of.to_planes ? layout->to[c] : layout->from[c],
        .vectors = vectors,
        .warps = (uint32_t)(shares * images),
        .unit = (uint8_t)layout->unit,
        .vector = (uint8_t)vector,
        .channels = (uint8_t)layout->extent[c],
        .to_planes = of.to_planes,
        .shares = permute_divisor_of(shares),
        .outer = permute_outer_axes(layout, of.to_planes ? c : of.pixels),
    };
    return true;
}

bool permute_prefers_pixels(const permute_layout *layout, const permute_pixels_args *args)
{
    if (layout->unit == 4 && (args->vector < 16 || layout->ndim == 2)) {
        return false; /* transpose's narrow is at the limit; words were not compared with packed */
    }
    const int64_t spans = args->vector == 16 ? 1 : PIXELS_SPANS;
    return args->vectors * 5 >= (int64_t)args->shares.by * spans * 32 * 3;
}

gm_status permute_takes_pixels(const gm_variant *variant, const gm_call *call)
{
    permute_layout layout;
    permute_pixels_args args;
    if (call->in[0].bytes == 0) {
        return GM_OK;
    }
    permute_fold(call, PERMUTE_WIDEST, &layout);
    if (permute_plan_pixels(&layout, &args)) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "variant %s moves %d to %d channels of elements of 1 to 4 bytes, between pixels "
                   "and planes that begin at words and are made of them; axes and a are something "
                   "else",
                   variant->name, PIXELS_LEAST, PIXELS_MOST);
}

void permute_plan_row_pixels(const gm_call *call, gm_plan *plan)
{
    permute_layout layout;
    permute_pixels_args *args = (permute_pixels_args *)plan->args;
    permute_fold(call, PERMUTE_WIDEST, &layout);
    (void)permute_plan_pixels(&layout, args); /* see permute_takes_pixels */
    plan->args_size = sizeof *args;
    plan->shared_bytes = (size_t)PIXELS_THREADS * (args->channels | 1) * args->vector;
    plan->grid.x = (args->warps - 1) / (PIXELS_THREADS / 32) + 1;
}
