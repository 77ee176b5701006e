/* permute: the family. Shapes, what its rows take, and the plans of its kernels. */
#include "permute/permute.h"

#include <string.h>

#include "backend/backend.h"
#include "near.h"
#include "permute/axes.h"
#include "permute/choose.h"
#include "permute/launches.h"
#include "permute/plan_channels.h"
#include "permute/plan_joined.h"
#include "permute/plan_layout.h"
#include "permute/plan_matrices.h"
#include "permute/plan_packed.h"
#include "permute/plan_pieces.h"
#include "permute/plan_pixels.h"
#include "permute/plan_shifted.h"

static gm_status permute_takes_elementwise(const gm_variant *variant, const gm_call *call);
static gm_status permute_takes_runs(const gm_variant *variant, const gm_call *call);
static gm_status permute_takes_words(const gm_variant *variant, const gm_call *call);
static gm_status permute_takes_tiles(const gm_variant *variant, const gm_call *call);
static gm_status permute_takes_packed(const gm_variant *variant, const gm_call *call);
static gm_status permute_takes_contiguous(const gm_variant *variant, const gm_call *call);
static int permute_pick_packed(const gm_call *call);
static gm_status launch_runs(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_words(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_shifted(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_packed(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#define GM_FAMILY permute
#define GM_LADDER "permute/ladder.def"
#include "family.h"

static gm_status permute_result(gm_call *call)
{
    const gm_array *in = &call->in[0];
    int axes[GM_MAX_DIMS];
    gm_status status = permute_read_axes(call, axes);
    call->out.ndim = in->ndim;
    for (int d = 0; status == GM_OK && d < in->ndim; d++) {
        call->out.shape[d] = in->shape[axes[d]];
    }
    return status;
}

/* ---- what the rows take ---------------------------------------------------------------------- */

static gm_status permute_takes_elementwise(const gm_variant *variant, const gm_call *call)
{
    return permute_takes_axes(variant, call, (int)call->in[0].itemsize, PERMUTE_MAX_DIMS);
}

static gm_status permute_takes_runs(const gm_variant *variant, const gm_call *call)
{
    return permute_takes_axes(variant, call, PERMUTE_WIDEST, PERMUTE_RUNS_DIMS);
}

static gm_status permute_takes_words(const gm_variant *variant, const gm_call *call)
{
    permute_layout layout;
    gm_status status = permute_takes_runs(variant, call);
    if (status != GM_OK || call->in[0].bytes == 0) {
        return status;
    }
    permute_fold(call, PERMUTE_WIDEST, &layout);
    if (permute_words_piece(&layout) > 0) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "variant %s moves units of up to 4 bytes, of which all but the outermost axis "
                   "have less than 2^31, less than 2 GiB apart; these are %lld units of %d bytes",
                   variant->name, (long long)layout.units, layout.unit);
}

static gm_status permute_takes_tiles(const gm_variant *variant, const gm_call *call)
{
    permute_layout layout;
    gm_status status = permute_takes_axes(variant, call, PERMUTE_WIDEST, PERMUTE_TILES_DIMS + 2);
    if (status != GM_OK || call->in[0].bytes == 0) {
        return status;
    }
    permute_fold(call, PERMUTE_WIDEST, &layout);
    status = permute_takes_rows(variant, &layout);
    if (status != GM_OK) {
        return status;
    }
    int closest = permute_closest_axis(&layout);
    if (closest > 0) {
        int64_t tiles = 1;
        for (int d = 0; d < layout.ndim && tiles <= INT32_MAX; d++) {
            bool side = d == 0 || d == closest;
            int64_t here =
                side ? permute_divide_up(layout.extent[d], variant->tile.x) : layout.extent[d];
            tiles = here > INT32_MAX ? here : tiles * here;
        }
        if (tiles > INT32_MAX) {
            return gm_fail(GM_ERROR_VALUE, "a has too many tiles for variant %s", variant->name);
        }
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "variant %s transposes matrices, but the last axis of the result is the closest "
                   "one of a as well",
                   variant->name);
}

/* Bytes of a unit, at most. */
static int most_of_packed(const gm_variant *variant)
{
    return variant == &variants[permute_row_packed_small] ? 2 : PERMUTE_WIDEST;
}

static int permute_pick_packed(const gm_call *call)
{
    permute_layout layout;
    if (call->in[0].bytes == 0) {
        return permute_row_packed_words;
    }
    permute_fold(call, PERMUTE_WIDEST, &layout);
    return layout.unit < 4 ? permute_row_packed_small : permute_row_packed_words;
}

static gm_status permute_takes_packed(const gm_variant *variant, const gm_call *call)
{
    permute_layout layout;
    permute_packed_args args;
    double cost;
    const int most = most_of_packed(variant);
    gm_status status = permute_takes_axes(variant, call, most, PACKED_DIMS);
    if (status != GM_OK || call->in[0].bytes == 0) {
        return status;
    }
    permute_fold_turned(call, most, &layout);
    if (variant == &variants[permute_row_packed_words] && layout.unit < 4) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s moves units of 4 bytes and more; those that axes move of a are "
                       "of %d, for which there is variant packed:small",
                       variant->name, layout.unit);
    }
    if (permute_plan_packed(&layout, call->device, &args, &cost)) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "what belongs to a tile of variant %s is more than 2^31 words apart in a",
                   variant->name);
}

static gm_status permute_takes_contiguous(const gm_variant *variant, const gm_call *call)
{
    return permute_is_contiguous(call)
               ? GM_OK
               : gm_fail(GM_ERROR_VALUE,
                         "axes move elements of a; variant %s takes what stays where it is",
                         variant->name);
}

_Static_assert(sizeof(permute_pixels_args) <= GM_MAX_ARGS, "a plan has room for them");
_Static_assert(sizeof(permute_channels_args) <= GM_MAX_ARGS, "a plan has room for them");
_Static_assert(sizeof(permute_packed_args) <= GM_MAX_ARGS, "a plan has room for them");

/* ---- plans ----------------------------------------------------------------------------------- */

static void plan_elementwise(const gm_call *call, gm_plan *plan)
{
    permute_layout layout;
    permute_elementwise_args *args = (permute_elementwise_args *)plan->args;
    permute_fold(call, (int)call->in[0].itemsize, &layout);
    *args = (permute_elementwise_args){
        .in = layout.in,
        .out = layout.out,
        .units = layout.units,
        .unit = layout.unit,
        .ndim = layout.ndim,
    };
    for (int d = 0; d < layout.ndim; d++) {
        args->extent[d] = layout.extent[layout.ndim - 1 - d];
        args->from[d] = layout.from[layout.ndim - 1 - d];
    }
    plan->args_size = sizeof *args;
    plan->grid.x = gm_grid_blocks(&variants[permute_row_elementwise], call, layout.units, 0);
}

/* Are indices of units, and offsets into the input, numbers of 32 bits? */
static bool is_near(const permute_layout *layout)
{
    int64_t reach = layout->units > INT32_MAX ? layout->units : 0;
    for (int d = 0; d < layout->ndim; d++) {
        reach = gm_reach(reach, layout->extent[d], layout->from[d]);
    }
    return reach <= INT32_MAX;
}

static const gm_variant *kernel_of_runs(const permute_runs_args *args)
{
    switch (args->is_near ? args->unit : 0) {
    case 4: return &part_runs_near_b32;
    case 8: return &part_runs_near_b64;
    case 16: return &part_runs_near_b128;
    default: return &variants[permute_row_runs];
    }
}

static void plan_runs(const gm_call *call, gm_plan *plan)
{
    permute_layout layout;
    permute_runs_args *args = (permute_runs_args *)plan->args;
    permute_fold(call, PERMUTE_WIDEST, &layout);
    *args = (permute_runs_args){
        .in = layout.in,
        .out = layout.out,
        .units = layout.units,
        .unit = layout.unit,
        .ndim = layout.ndim,
        .is_near = is_near(&layout),
    };
    for (int d = 0; d < layout.ndim; d++) {
        int64_t extent = layout.extent[d];
        args->long_extent[d] = extent;
        if (layout.units <= INT32_MAX) {
            args->extent[d] = permute_divisor_of(extent);
        }
        args->from[d] = layout.from[d];
    }
    plan->args_size = sizeof *args;
    const gm_variant *kernel = kernel_of_runs(args);
    /* Half as many units of 16 bytes per thread: small arrays need the blocks. */
    const bool halved = layout.unit == 16 && kernel == &variants[permute_row_runs];
    plan->block = kernel->block;
    plan->grid.x = gm_grid_blocks(kernel, call, halved ? 2 * layout.units : layout.units, 0);
}

static gm_status launch_runs(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    (void)variant;
    return call->backend->launch(kernel_of_runs((const permute_runs_args *)plan->args), plan,
                                 call->stream);
}

static void plan_words(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    permute_layout layout, piece;
    permute_fold(call, PERMUTE_WIDEST, &layout);
    (void)permute_words_cut(&layout, 0, &piece);
    permute_plan_words(&piece, variant, plan);
}

/* A launch for each piece, of the kernel for how its units follow each other. */
static gm_status launch_words(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_variant *const kernels[WORDS_WAYS] = {
        [WORDS_ANY] = variant,
        [WORDS_SAME] = &part_words_same,
        [WORDS_SHORT] = &part_words_short,
        [WORDS_SINGLE] = &part_words_single,
    };
    permute_layout layout, piece;
    gm_status status = GM_OK;
    permute_fold(call, PERMUTE_WIDEST, &layout);
    for (int64_t at = 0; status == GM_OK && permute_words_cut(&layout, at, &piece);
         at += piece.extent[piece.ndim - 1]) {
        const words_way way = permute_words_way(&piece);
        const bool bytes = way == WORDS_SHORT && piece.unit == 1;
        permute_plan_words(&piece, variant, plan);
        status =
            call->backend->launch(bytes ? &part_words_short_b8 : kernels[way], plan, call->stream);
    }
    return status;
}

/* The kernel by whether rows are pixels, and the result has gaps between them. */
static gm_status launch_shifted(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_variant *const kernels[2][2] = {
        {variant, &part_shifted_gaps},
        {&part_shifted_pixels, &part_shifted_pixels_gaps},
    };
    const permute_shifted_args *args = (const permute_shifted_args *)plan->args;
    const gm_variant *kernel = args->picked > 0
                                   ? &part_shifted_picked
                                   : kernels[args->pixel.by > 1][!call->out.contiguous];
    return call->backend->launch(kernel, plan, call->stream);
}

static void plan_tiles(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    permute_layout layout;
    permute_tiles_args *args = (permute_tiles_args *)plan->args;
    permute_fold(call, PERMUTE_WIDEST, &layout);
    int closest = permute_closest_axis(&layout);
    *args = (permute_tiles_args){
        .in = layout.in,
        .out = layout.out,
        .unit = layout.unit,
        .rows = layout.extent[0],
        .cols = layout.extent[closest],
        .from_row = layout.from[0],
        .from_col = layout.from[closest],
        .to_col = layout.to[closest],
    };
    int64_t across = permute_divide_up(args->rows, variant->tile.x);
    int64_t down = permute_divide_up(args->cols, variant->tile.y);
    int64_t tiles = across * down;
    args->tiles_x = permute_divisor_of(across);
    args->tiles_y = permute_divisor_of(down);
    args->outer = permute_outer_axes(&layout, closest);
    for (int d = 0; d < args->outer.ndim; d++) {
        tiles *= args->outer.extent[d].by;
    }
    plan->args_size = sizeof *args;
    plan->grid.x = (unsigned)tiles;
}

static void plan_packed(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    permute_layout layout;
    permute_fold_turned(call, most_of_packed(variant), &layout);
    permute_fill_packed(&layout, call->device, plan);
}

/* The kernel for the unit, and for how rows of the result are stored. */
static const gm_variant *kernel_of_packed(const gm_variant *variant, const gm_plan *plan)
{
    const permute_packed_args *args = (const permute_packed_args *)plan->args;
    enum { WORDS, SQUARED, SQUARES, SHIFTED };
    const gm_variant *const small[2][4] = {
        {variant, &part_packed_small_squared, &part_packed_small_squares,
         &part_packed_small_shifted},
        {&part_packed_small_b16, &part_packed_small_b16_squared, &part_packed_small_b16_squares,
         &part_packed_small_b16_shifted},
    };
    const gm_variant *kernel = variant;
    switch (args->unit) {
    case 1:
    case 2:
        kernel = small[args->unit - 1][args->store.shifted           ? SHIFTED
                                       : args->grouped > 0           ? SQUARES
                                       : args->squared < PACKED_DIMS ? SQUARED
                                                                     : WORDS];
        break;
    case 8: kernel = &part_packed_words_b64; break;
    case 16: kernel = &part_packed_words_b128; break;
    default: break;
    }
    return kernel;
}

/* Rows that groups of them leave out have a launch of their own. */
static gm_status launch_packed(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    permute_layout layout, rest;
    permute_fold_turned(call, most_of_packed(variant), &layout);
    gm_status status = call->backend->launch(kernel_of_packed(variant, plan), plan, call->stream);
    if (status == GM_OK && permute_packed_rest(&layout, call->device, &rest)) {
        permute_fill_packed(&rest, call->device, plan);
        status = call->backend->launch(kernel_of_packed(variant, plan), plan, call->stream);
    }
    return status;
}

static void plan_instance(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    static const struct {
        int row;
        void (*plan)(const gm_variant *variant, const gm_call *call, gm_plan *plan);
    } rows[] = {
        {permute_row_matrices, permute_plan_matrices},
        {permute_row_joined, permute_plan_joined},
        {permute_row_pixels, permute_plan_row_pixels},
        {permute_row_channels, permute_plan_channels},
    };
    int i = 0;
    while (variant->row != &variants[rows[i].row]) {
        i++;
    }
    rows[i].plan(variant, call, plan);
}

static gm_status permute_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    if (call->in[0].bytes == 0) {
        return GM_OK; /* no blocks */
    }
    switch (variant - variants) {
    case permute_row_elementwise: plan_elementwise(call, plan); break;
    case permute_row_runs: plan_runs(call, plan); break;
    case permute_row_words: plan_words(variant, call, plan); break;
    case permute_row_shifted: permute_plan_shifted(variant, call, plan); break;
    case permute_row_tiles: plan_tiles(variant, call, plan); break;
    case permute_row_packed_small:
    case permute_row_packed_words: plan_packed(variant, call, plan); break;
    case permute_row_contiguous:
    case permute_row_matrix:
    case permute_row_units:
        plan->grid.x = 1; /* something to do, if not by a kernel of our own */
        break;
    default: plan_instance(variant, call, plan);
    }
    return GM_OK;
}

/* Along the axis that is the first one of the result. */
static int permute_split(const gm_call *call, int input)
{
    int axes[GM_MAX_DIMS];
    (void)input;
    return permute_read_axes(call, axes) == GM_OK && call->in[0].ndim > 0 ? axes[0] : GM_UNCUT;
}

static const gm_operand inputs[] = {{.name = "a"}};
static const gm_parameter parameters[PERMUTE_PARAMETERS] = {
#define AXES(first)                                                                                \
    {                                                                                              \
        "axes[" first ":]", 0, INT64_MAX, false                                                    \
    }
    AXES("0"),  AXES("7"),  AXES("14"), AXES("21"), AXES("28"),
    AXES("35"), AXES("42"), AXES("49"), AXES("56"), AXES("63"),
};

const gm_family gm_family_permute = {
    .name = "permute",
    .doc = "permute the axes of an array: runs, matrices, and short axes on chip",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 1,
    .parameters = parameters,
    .parameter_count = PERMUTE_PARAMETERS,
    .result = permute_result,
    .choose = permute_choose,
    .keeps_choice = true,
    .split = permute_split,
    .plan = permute_plan,
};
