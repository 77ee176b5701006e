/* permute: the plan of pixels. */
#include "permute/plan_pixels.h"

#include "permute/plan_matrices.h"

#define GM_FAMILY permute
#define GM_LADDER "permute/ladder.def"
#include "rows.h"

typedef struct instance {
    int row, unit, vector; /* bytes */
    int spans;             /* vectors of a lane, of each plane */
    bool shifted;          /* planes begin anywhere */
} instance;

/* The fastest of those that a layout allows comes first: shifted ones touch fewer sectors than
 * words, in a third of the requests. */
static const instance instances[] = {
    {permute_row_pixels_b8, 1, 16, 1, false},
    {permute_row_pixels_b16, 2, 16, 1, false},
    {permute_row_pixels_b32, 4, 16, 1, false},
    {permute_row_pixels_b8_shifted, 1, 16, 1, true},
    {permute_row_pixels_b16_shifted, 2, 16, 1, true},
    {permute_row_pixels_b32_shifted, 4, 16, 1, true},
    {permute_row_pixels_b8_words, 1, 4, PIXELS_SPANS, false},
    {permute_row_pixels_b16_words, 2, 4, PIXELS_SPANS, false},
    {permute_row_pixels_b32_words, 4, 4, PIXELS_SPANS, false},
};
enum { INSTANCES = sizeof instances / sizeof *instances };

bool permute_as_image(const permute_layout *layout, int64_t least, int64_t most,
                      permute_image *found)
{
    const int64_t unit = layout->unit;
    if (layout->ndim < 2 || unit > 4 || layout->to[0] != unit) {
        return false;
    }
    for (int d = 1; d < layout->ndim; d++) {
        const int64_t channels = layout->extent[d];
        if (channels >= least && channels <= most && channels <= layout->extent[0] &&
            layout->from[d] == unit && layout->from[0] == channels * unit) {
            *found = (permute_image){.pixels = 0, .channels = d, .to_planes = true};
            return true;
        }
    }
    *found = (permute_image){.pixels = 1, .channels = 0, .to_planes = false};
    return layout->extent[0] >= least && layout->extent[0] <= most && layout->from[1] == unit &&
           layout->to[1] == layout->extent[0] * unit;
}

/* Bits that are 0 in the addresses and distances of pixels, and of planes, are so in these. */
static void find_bits(const permute_layout *layout, const permute_image *of, uintptr_t *pixels,
                      uintptr_t *planes)
{
    *pixels = (uintptr_t)(of->to_planes ? layout->in : layout->out);
    *planes = (uintptr_t)(of->to_planes ? layout->out : layout->in);
    for (int d = 0; d < layout->ndim; d++) {
        const int64_t among_pixels = of->to_planes ? layout->from[d] : layout->to[d];
        const int64_t among_planes = of->to_planes ? layout->to[d] : layout->from[d];
        *pixels |= d == of->pixels || d == of->channels ? 0 : (uintptr_t)among_pixels;
        *planes |= d == of->pixels ? 0 : (uintptr_t)among_planes;
    }
}

/* Do vectors of the instance divide the planes and where they and the pixels begin? Those of a
 * shifted one divide nothing, but some pixel has to begin at 16 bytes. */
static bool divides(const instance *one, const permute_layout *layout, const permute_image *of)
{
    const int64_t pixel = layout->extent[of->channels] * layout->unit;
    uintptr_t pixels, planes;
    find_bits(layout, of, &pixels, &planes);
    if (one->shifted) {
        return pixels % (uintptr_t)(pixel & -pixel) == 0;
    }
    planes |= (uintptr_t)(layout->extent[of->pixels] * layout->unit);
    return (pixels | planes) % (uintptr_t)one->vector == 0;
}

/* Shares of an image, one for a warp; those of shifted planes have their ends in one more each, and
 * at least the first pixels of a vector are among these. */
static int64_t count_shares(const instance *one, const permute_pixels_args *args)
{
    if (one->shifted) {
        return permute_divide_up(args->vectors, args->to_planes ? 31 : 32) + args->channels;
    }
    return permute_divide_up(args->vectors, 32 * (int64_t)one->spans);
}

static bool plan_instance(const permute_layout *layout, const instance *one,
                          permute_pixels_args *args)
{
    permute_image of;
    if (one->unit != layout->unit || !permute_as_image(layout, PIXELS_LEAST, PIXELS_MOST, &of) ||
        layout->ndim > PERMUTE_TILES_DIMS + 2 || !divides(one, layout, &of)) {
        return false;
    }
    const int c = of.channels;
    *args = (permute_pixels_args){
        .in = layout->in,
        .out = layout->out,
        .plane = of.to_planes ? layout->to[c] : layout->from[c],
        .pixels = layout->extent[of.pixels],
        .vectors = layout->extent[of.pixels] * layout->unit / one->vector,
        .vector = (uint8_t)one->vector,
        .channels = (uint8_t)layout->extent[c],
        .to_planes = of.to_planes,
    };
    const int64_t shares = count_shares(one, args);
    const int64_t images = layout->units / args->pixels / args->channels;
    if (shares > INT32_MAX / images) {
        return false;
    }
    args->warps = (uint32_t)(shares * images);
    args->shares = permute_divisor_of(shares);
    args->outer = permute_outer_axes(layout, of.to_planes ? c : of.pixels);
    return true;
}

/* Have most lanes something to do? The ends of shifted planes take half the time of a share. */
static bool is_busy(const instance *one, const permute_pixels_args *args)
{
    const int64_t ends = one->shifted ? args->channels : 0;
    const int64_t lanes = (2 * (int64_t)args->shares.by - ends) * one->spans * 16;
    return args->vectors * 5 >= lanes * 3;
}

/* The first instance that moves a layout with busy lanes, or one that moves it at all; NULL if
 * there is none. */
static const instance *instance_for(const permute_layout *layout, bool *busy)
{
    const instance *found = NULL;
    permute_pixels_args args;
    *busy = false;
    for (int i = 0; i < INSTANCES && !*busy; i++) {
        if (plan_instance(layout, &instances[i], &args)) {
            *busy = is_busy(&instances[i], &args);
            found = found && !*busy ? found : &instances[i];
        }
    }
    return found;
}

bool permute_prefers_pixels(const permute_layout *layout)
{
    permute_layout turned = *layout;
    bool busy;
    permute_turn(&turned);
    (void)instance_for(&turned, &busy);
    return busy;
}

static const instance *instance_of(const gm_call *call, const gm_variant *variant)
{
    int i = 0;
    while (gm_row(call, instances[i].row) != variant) {
        i++;
    }
    return &instances[i];
}

int permute_pick_pixels(const gm_call *call)
{
    permute_layout layout;
    bool busy;
    if (call->in[0].bytes > 0) {
        permute_fold_turned(call, PERMUTE_WIDEST, &layout);
        const instance *one = instance_for(&layout, &busy);
        if (one) {
            return one->row;
        }
    }
    return permute_any_instance(call, permute_row_pixels);
}

static gm_status takes_layout(const gm_variant *variant, const permute_layout *layout)
{
    bool busy;
    return instance_for(layout, &busy)
               ? GM_OK
               : gm_fail(GM_ERROR_VALUE,
                         "variant %s moves %d to %d channels of elements of 1 to 4 bytes, between "
                         "pixels and planes, where some pixel begins at 16 bytes; axes and a are "
                         "something else",
                         variant->name, PIXELS_LEAST, PIXELS_MOST);
}

gm_status permute_takes_pixels(const gm_variant *variant, const gm_call *call)
{
    permute_layout layout;
    permute_pixels_args args;
    if (call->in[0].bytes == 0) {
        return GM_OK;
    }
    permute_fold_turned(call, PERMUTE_WIDEST, &layout);
    if (variant->pick) {
        return takes_layout(variant, &layout);
    }
    const instance *one = instance_of(call, variant);
    if (plan_instance(&layout, one, &args)) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "variant %s moves %d to %d channels of %d byte%s each, between pixels and "
                   "planes%s; axes and a are something else (variant=\"pixels\" takes others)",
                   variant->name, PIXELS_LEAST, PIXELS_MOST, one->unit, one->unit > 1 ? "s" : "",
                   one->shifted       ? ", where some pixel begins at 16 bytes"
                   : one->vector == 4 ? " of whole words"
                                      : " of whole 16-byte vectors");
}

void permute_plan_row_pixels(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    permute_layout layout;
    permute_pixels_args *args = (permute_pixels_args *)plan->args;
    permute_fold_turned(call, PERMUTE_WIDEST, &layout);
    (void)plan_instance(&layout, instance_of(call, variant), args); /* see permute_takes_pixels */
    plan->args_size = sizeof *args;
    plan->shared_bytes = (size_t)PIXELS_THREADS * args->channels * args->vector;
    plan->grid.x = (args->warps - 1) / (PIXELS_THREADS / 32) + 1;
}
