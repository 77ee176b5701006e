/*
 * permute: the tiles of transpose for each matrix of an array.
 *
 * Estimates are fitted to the times of 780 layouts on an H100.
 */
#include "permute/plan_matrices.h"

#include <math.h>

#include "backend/backend.h"
#include "memory_rate.h"
#include "permute/plan_gathered.h"
#include "permute/plan_grid.h"

#define GM_FAMILY permute
#define GM_LADDER "permute/ladder.def"
#include "rows.h"

double permute_pace(const gm_call *call)
{
    static const double MEASURED = 11.1; /* an H100's */
    return 1 + (gm_memory_rate(call->device) / MEASURED - 1) / 2;
}

int permute_closest_axis(const permute_layout *layout)
{
    int closest = -1;
    for (int d = 0; d < layout->ndim; d++) {
        int64_t distance = permute_magnitude(layout->from[d]);
        if (distance != 0 && (closest < 0 || distance < permute_magnitude(layout->from[closest]))) {
            closest = d;
        }
    }
    return closest;
}

permute_outer permute_outer_axes(const permute_layout *layout, int closest)
{
    permute_outer outer = {0};
    for (int d = 1; d < layout->ndim; d++) {
        if (d != closest) {
            outer.extent[outer.ndim] = permute_divisor_of(layout->extent[d]);
            outer.from[outer.ndim] = layout->from[d];
            outer.to[outer.ndim] = layout->to[d];
            outer.ndim++;
        }
    }
    return outer;
}

/* ---- instances ------------------------------------------------------------------------------- */

enum { VECTOR = 16 /* bytes */ };

/* Times are multiples of a copy's: `base`; `slope` for each time that tiles have room for the
 * elements of a matrix; `ends` for the share of a row of the result that is a sector; but at least
 * `least`. Those of gathered_b8, gathered_b16, vector_b64, vector_b128 are of an H200. */
typedef struct instance {
    int row, unit;
    bool whole;    /* rows are made of whole vectors on both sides */
    bool halo;     /* tiles overlap by up to a sector */
    bool gathered; /* they have the shape of plan_gathered.c */
    double base, slope, ends, least;
} instance;

#define TIME(a, b, c, d) .base = (a), .slope = (b), .ends = (c), .least = (d)

static const instance instances[] = {
    {permute_row_matrices_vector_b8, 1, .whole = true, TIME(0.56, 0.13, 0, 1.06)},
    {permute_row_matrices_vector_b8_narrow, 1, .whole = true, TIME(0.62, 0.135, 0, 1.21)},
    {permute_row_matrices_gathered_b8, 1, .gathered = true, TIME(0.82, 0.25, 0.95, 1.06)},
    {permute_row_matrices_vector_b16, 2, .whole = true, TIME(0.72, 0.14, 0, 1.07)},
    {permute_row_matrices_vector_b16_small, 2, .whole = true, TIME(0.75, 0.14, 0, 1.09)},
    {permute_row_matrices_gathered_b16, 2, .gathered = true, TIME(1.06, 0.035, 0.53, 1.05)},
    {permute_row_matrices_vector_b32, 4, TIME(0.08, 0.32, 0, 1.06)},
    {permute_row_matrices_shifted_b32, 4, .halo = true, TIME(0.37, 0.42, 0.9, 1.07)},
    {permute_row_matrices_shifted_b32_tall, 4, .halo = true, TIME(0.32, 0.47, 0.15, 1.065)},
    {permute_row_matrices_vector_b64, 8, TIME(0.95, 0.09, 0, 1.05)},
    {permute_row_matrices_vector_b128, 16, TIME(0.89, 0.09, 0, 1.02)},
};

/* vector_b32 where rows of the result begin inside of vectors: it stores elements. */
static const instance elements = {permute_row_matrices_vector_b32, 4, TIME(0.23, 0.375, 0, 1.36)};

enum { INSTANCES = sizeof instances / sizeof *instances };

static const instance *instance_of(const gm_call *call, const gm_variant *variant)
{
    for (int i = 0; i < INSTANCES; i++) {
        if (gm_row(call, instances[i].row) == variant) {
            return &instances[i];
        }
    }
    return NULL;
}

/* The bits of where rows of the result begin. */
static uintptr_t bits_of_rows(const permute_layout *layout)
{
    uintptr_t bits = (uintptr_t)layout->out;
    for (int d = 1; d < layout->ndim; d++) {
        bits |= (uintptr_t)layout->to[d];
    }
    return bits;
}

/* Do all rows of the result begin and end at vectors? */
static bool writes_whole(const permute_layout *layout)
{
    return (bits_of_rows(layout) | (uintptr_t)(layout->extent[0] * layout->unit)) % VECTOR == 0;
}

/* And those of the input? */
static bool is_whole(const permute_layout *layout, int closest)
{
    uintptr_t bits = (uintptr_t)layout->in | (uintptr_t)(layout->extent[closest] * layout->unit);
    for (int d = 0; d < layout->ndim; d++) {
        bits |= d == closest ? 0 : (uintptr_t)layout->from[d];
    }
    return bits % VECTOR == 0 && writes_whole(layout);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

typedef struct tiling {
    permute_tiling tiles;
    double time; /* a multiple of a copy's: see instance */
} tiling;

/* How many times as long fewer tiles than multiprocessors take: another instance for rows of whole
 * vectors has smaller ones. */
static double idleness(const permute_tiling *tiles, const gm_call *call)
{
    const int all = call->device->multiprocessors;
    return tiles->all > 0 && tiles->all < all ? all / (double)tiles->all : 1;
}

static tiling tiles_of(const gm_call *call, const instance *one, const permute_layout *layout,
                       int closest)
{
    gm_dim tile = gm_row(call, one->row)->tile;
    int64_t halo = one->halo ? GM_SECTOR / layout->unit - 1 : 0;
    double time = 0;
    if (one->gathered) {
        const permute_gathered shape = permute_plan_gathered(layout, closest, call->device);
        tile = (gm_dim){shape.width, shape.step, 1};
        halo = shape.halo;
        time = permute_gathered_time(layout, closest);
    }
    const permute_tiling tiles = permute_tiling_of(layout, closest, tile.x, tile.y, halo);
    const bool single = one->row == permute_row_matrices_vector_b32 && !writes_whole(layout);
    const instance *taken = single ? &elements : one;
    const double room = (double)(tiles.across * tile.x) * (double)(tiles.down * tile.y) /
                        ((double)layout->extent[0] * (double)layout->extent[closest]);
    const double sector = GM_SECTOR / (double)(layout->extent[0] * layout->unit);
    time += taken->base + taken->slope * room * permute_pace(call) + taken->ends * sector;
    time = time > taken->least ? time : taken->least;
    return (tiling){tiles, one->whole ? time * idleness(&tiles, call) : time};
}

/* The instance that takes the least time. */
static const instance *best_instance(const gm_call *call, const permute_layout *layout, int closest)
{
    const instance *best = NULL;
    double least = 0;
    bool whole = is_whole(layout, closest);
    for (int i = 0; i < INSTANCES; i++) {
        const instance *one = &instances[i];
        if (one->unit == layout->unit && (whole || !one->whole)) {
            double time = tiles_of(call, one, layout, closest).time;
            if (!best || time < least) {
                best = one;
                least = time;
            }
        }
    }
    return best;
}

/* ---- what the rows take ---------------------------------------------------------------------- */

bool permute_has_matrices(const permute_layout *layout, int closest)
{
    return closest > 0 && layout->ndim <= PERMUTE_TILES_DIMS + 2 &&
           layout->from[closest] == layout->unit &&
           permute_magnitude(layout->from[0]) >= layout->extent[closest] * layout->unit;
}

gm_status permute_takes_matrices(const gm_variant *variant, const gm_call *call)
{
    permute_layout layout;
    if (call->in[0].bytes == 0) {
        return GM_OK;
    }
    gm_status status = permute_takes_turned(variant, call, &layout);
    if (status != GM_OK) {
        return status;
    }
    const int closest = permute_closest_axis(&layout);
    if (!permute_has_matrices(&layout, closest)) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s transposes matrices of at most %d dimensions, whose rows run on "
                       "in a: that of its axis which is the last of the result is the closest one "
                       "as well, or no axis of a is contiguous",
                       variant->name, PERMUTE_TILES_DIMS + 2);
    }
    const instance *one = instance_of(call, variant);
    if (!one) { /* the row, which has an instance for each unit */
        one = best_instance(call, &layout, closest);
    } else if ((status = permute_takes_unit(variant, &layout, one->unit)) != GM_OK) {
        return status;
    } else if (one->whole && !is_whole(&layout, closest)) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s needs rows of whole 16-byte vectors on both sides",
                       variant->name);
    }
    return tiles_of(call, one, &layout, closest).tiles.all > 0
               ? GM_OK
               : gm_fail(GM_ERROR_VALUE, "a has too many tiles for variant %s", variant->name);
}

int permute_pick_matrices(const gm_call *call)
{
    permute_layout layout;
    if (call->in[0].bytes > 0) {
        permute_fold_turned(call, PERMUTE_WIDEST, &layout);
        const int closest = permute_closest_axis(&layout);
        if (permute_has_matrices(&layout, closest)) {
            return best_instance(call, &layout, closest)->row;
        }
    }
    return permute_any_instance(call, permute_row_matrices);
}

/* Rows of less than 128 bytes that no others follow within a tile: how much less, from 0 to 1. */
static double shortness(int64_t bytes, int64_t to_next)
{
    enum { SHORT = 64, LONG = 128 };
    if (bytes >= LONG || permute_magnitude(to_next) < 2 * bytes) {
        return 0;
    }
    return bytes <= SHORT ? 1 : (double)(LONG - bytes) / (LONG - SHORT);
}

/* Memory moves two sectors at a time: tiles whose rows are one in the input read twice as much. It
 * also takes longer for short rows, of matrices that are far apart, and for those of floats that
 * end inside of sectors. */
static double time_of_short(const permute_layout *layout, int closest)
{
    static const double OTHER_SECTOR = 0.5, SHORT_READ = 0.3, SHORT_WRITE = 0.2;
    static const double UNEVEN = 30; /* bytes, of floats in rows that are not long */
    enum { CACHED = 24 << 20 /* bytes: the L2 has room for them and the result */, LONG = 512 };
    const int64_t read = layout->extent[closest] * layout->unit;
    const int64_t written = layout->extent[0] * layout->unit;
    if (layout->units * layout->unit < CACHED) {
        return 0;
    }
    const bool uneven = layout->unit == 4 && written < LONG && written % GM_SECTOR != 0;
    return (uneven ? UNEVEN / (double)written : 0) + (read <= GM_SECTOR ? OTHER_SECTOR : 0) +
           SHORT_READ * shortness(read, layout->from[0]) +
           SHORT_WRITE * shortness(written, layout->to[closest]);
}

double permute_matrices_time(const permute_layout *layout, const gm_call *call)
{
    permute_layout turned = *layout;
    permute_turn(&turned);
    const int closest = permute_closest_axis(&turned);
    if (!permute_has_matrices(&turned, closest)) {
        return INFINITY;
    }
    const instance *best = best_instance(call, &turned, closest);
    const tiling tiles = tiles_of(call, best, &turned, closest);
    if (tiles.tiles.all < call->device->multiprocessors) {
        return INFINITY;
    }
    return tiles.time + (best->gathered ? 0 : time_of_short(&turned, closest));
}

double permute_shifted_time(const permute_layout *layout)
{
    enum { FEW = 128, WIDE = 128, HIGH = 112 /* units of a tile; of bytes it is twice as high */ };
    const bool bytes = layout->unit == 1;
    const int64_t rows = layout->extent[0], cols = layout->extent[1];
    if (layout->unit > 2 || rows < FEW || cols < FEW) {
        return 0;
    }
    const int64_t high = bytes ? 2 * HIGH : HIGH;
    const double room = (double)(permute_divide_up(cols, WIDE) * WIDE) / (double)cols *
                        (double)(permute_divide_up(rows, high) * high) / (double)rows;
    const double sector = GM_SECTOR / (double)(rows * layout->unit);
    return bytes ? 1.3 * room - 0.22 : room + 0.09 + 1.8 * sector;
}

/* ---- plans ----------------------------------------------------------------------------------- */

void permute_plan_matrices(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    permute_layout layout;
    permute_matrices_args *args = (permute_matrices_args *)plan->args;
    permute_fold_turned(call, PERMUTE_WIDEST, &layout);
    const int closest = permute_closest_axis(&layout);
    const instance *one = instance_of(call, variant);
    const permute_tiling tiles = tiles_of(call, one, &layout, closest).tiles;
    *args = (permute_matrices_args){
        .walk =
            {
                .in = layout.in,
                .out = layout.out,
                .rows = layout.extent[0],
                .cols = layout.extent[closest],
                .pitch = layout.from[0],
                .out_pitch = layout.to[closest],
                .tiles_x = tiles.across,
                .tiles_y = tiles.down,
                .itemsize = layout.unit,
            },
    };
    permute_memory(&layout, &args->begin, &args->end);
    plan->args_size = sizeof *args;
    if (one->gathered) {
        args->gathered = permute_plan_gathered(&layout, closest, call->device);
        plan->shared_bytes = permute_gathered_bytes(&args->gathered, layout.unit);
    }
    permute_fill_grid(&tiles, &layout, closest, plan, &args->grid);
}
