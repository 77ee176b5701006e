/* permute: which rows shifted moves, and its plan. */
#include "permute/plan_shifted.h"

enum { WORD = 4 /* bytes */ };

/* Units of a pixel of which the row has the one that is last in memory first, if it runs forwards;
 * the first one first, if it runs backwards. 1: there are no such pixels. */
static int pixel_of(const permute_layout *layout)
{
    const int64_t unit = layout->unit, units = layout->extent[0], bytes = units * unit;
    const bool opposite = layout->ndim > 1 && permute_magnitude(layout->from[0]) == unit &&
                          layout->from[1] == (layout->from[0] < 0 ? bytes : -bytes);
    const bool runs_on = opposite && layout->to[0] == unit && layout->to[1] == bytes;
    return runs_on && unit < WORD && bytes - unit <= SHIFTED_BESIDE ? (int)units : 1;
}

static bool has_gaps(const permute_layout *layout)
{
    int64_t bytes = layout->unit;
    bool gaps = false;
    for (int d = 0; d < layout->ndim; d++) {
        gaps = gaps || layout->to[d] != bytes;
        bytes *= layout->extent[d];
    }
    return gaps;
}

/* One of two bytes, two of three, three of four: the bytes of a pixel, or 0 for others. */
static int picked_from(const permute_layout *layout)
{
    enum { MOST = 3 };
    const int64_t units = layout->extent[0], step = permute_magnitude(layout->from[0]);
    if (layout->unit > 1 || has_gaps(layout)) {
        return 0;
    }
    if (layout->ndim > 1 && units <= MOST && layout->from[1] == units + 1 &&
        (units - 1) * step <= units) {
        return (int)units + 1;
    }
    return layout->from[0] == 2 ? 2 : 0;
}

permute_shifted_row permute_shifted_row_of(const permute_layout *layout)
{
    const int64_t unit = layout->unit;
    permute_shifted_row row = {.bytes = unit, .pixel = pixel_of(layout)};
    if (row.pixel == 1) {
        row.picked = picked_from(layout);
    }
    if (row.picked > 0) {
        row.pixel = row.picked - 1;
        row.axes = row.pixel > 1 ? 2 : 1;
    } else if (row.pixel > 1) {
        row.axes = 2;
        row.backwards = layout->from[1] < 0;
    } else if (layout->from[0] == unit || (layout->from[0] == -unit && unit <= WORD)) {
        row.axes = 1;
        row.backwards = layout->from[0] < 0;
    }
    for (int d = 0; d < row.axes; d++) {
        row.bytes *= layout->extent[d];
    }
    return row;
}

/* Vectors of a result with gaps that a row has a part of, at most. */
static int64_t vectors_of_row(const permute_layout *layout, const permute_shifted_row *row)
{
    uintptr_t bits = (uintptr_t)layout->out | PERMUTE_WIDEST;
    for (int d = row->axes > 1 ? row->axes : 1; d < layout->ndim; d++) {
        bits |= (uintptr_t)layout->to[d];
    }
    const int64_t before = PERMUTE_WIDEST - (int64_t)(bits & (0 - bits));
    return permute_divide_up(row->bytes + before, PERMUTE_WIDEST);
}

gm_status permute_takes_shifted(const gm_variant *variant, const gm_call *call)
{
    permute_layout layout;
    gm_status status = permute_takes_axes(variant, call, PERMUTE_WIDEST, PERMUTE_TILES_DIMS);
    if (status != GM_OK || call->in[0].bytes == 0) {
        return status;
    }
    permute_fold(call, PERMUTE_WIDEST, &layout);
    const permute_shifted_row row = permute_shifted_row_of(&layout);
    const int64_t rows = call->in[0].bytes / row.bytes;
    if (row.bytes < SHIFTED_LEAST || row.bytes > SHIFTED_MOST || rows > INT32_MAX) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s moves rows of %d bytes to 1 GiB, at most 2^31 of them; those "
                       "that run on in both arrays have %lld",
                       variant->name, SHIFTED_LEAST, (long long)row.bytes);
    }
    if (call->out.contiguous) {
        return GM_OK;
    }
    if (rows > INT32_MAX / vectors_of_row(&layout, &row)) {
        return gm_fail(GM_ERROR_VALUE, "a has too many vectors of 16 bytes for variant %s",
                       variant->name);
    }
    return permute_takes_rows(variant, &layout);
}

/* The byte of the window that is byte `number` of a vector which begins with unit `first` of a
 * pixel. */
static int byte_of_window(const permute_shifted_args *args, const permute_shifted_row *row,
                          int first, int number)
{
    const int size = 1 << args->log_unit, unit = number / size, of_unit = number % size;
    const int of_pixel = (first + unit) % row->pixel;
    if (row->picked > 0) {
        return (first + unit) / row->pixel * row->picked + args->first + of_pixel * args->step;
    }
    const int from = (unit + row->pixel - 1 - 2 * of_pixel) * size; /* the row's byte */
    return SHIFTED_BESIDE + (row->backwards ? PERMUTE_WIDEST - size - from : from) + of_unit;
}

/* See permute_shifted_args: of the word `number` of the vector. */
static uint32_t select_of(const permute_shifted_args *args, const permute_shifted_row *row,
                          int first, int number)
{
    const int begin = row->picked > 0  ? SHIFTED_PICKED_FROM(row->pixel, row->picked, number)
                      : row->backwards ? 3 - number
                                       : number;
    uint32_t two = 0, third = 0;
    for (int j = 0; j < WORD; j++) {
        const int byte = byte_of_window(args, row, first, number * WORD + j) - begin * WORD;
        two |= (uint32_t)(byte < 2 * WORD ? byte : 0) << 4 * j;
        third |= (uint32_t)(byte < 2 * WORD ? j : byte - WORD) << 4 * j;
    }
    return two | third << 16;
}

void permute_plan_shifted(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    static const uint32_t order[] = {[1] = 0x0123, [2] = 0x1032, [4] = 0x3210};
    permute_layout layout;
    permute_shifted_args *args = (permute_shifted_args *)plan->args;
    permute_fold(call, PERMUTE_WIDEST, &layout);
    const permute_shifted_row row = permute_shifted_row_of(&layout);
    const int pixel = row.pixel * layout.unit, step = (int)layout.from[0];
    const int first = row.picked > 0 && step < 0 ? (row.pixel - 1) * -step : 0;
    const bool turned = row.picked == 0 && row.pixel > 1 && !row.backwards;
    *args = (permute_shifted_args){
        .in = layout.in - first - (turned ? pixel - layout.unit : 0),
        .out = layout.out,
        .bytes = layout.units * layout.unit,
        .lead = (int)((uintptr_t)layout.out % PERMUTE_WIDEST),
        .run = permute_divisor_of(row.bytes),
        .backwards = row.backwards ? pixel : 0,
        .order = row.backwards && layout.unit <= WORD ? order[layout.unit] : 0,
        .pixel = permute_divisor_of(row.pixel > 1 ? pixel : 1),
        .log_unit = layout.unit / 2, /* of 1 and 2 */
        .picked = row.picked,
        .first = first,
        .step = row.picked > 0 ? step : 0,
    };
    for (int d = row.axes; d < layout.ndim; d++) {
        args->outer.extent[args->outer.ndim] = permute_divisor_of(layout.extent[d]);
        args->outer.to[args->outer.ndim] = layout.to[d];
        args->outer.from[args->outer.ndim++] = layout.from[d];
    }
    for (int c = 0; c < row.pixel && (row.pixel > 1 || row.picked > 0); c++) {
        for (int j = 0; j < PERMUTE_WIDEST / WORD; j++) {
            args->select[c][j] = select_of(args, &row, c, j);
        }
    }
    permute_memory(&layout, &args->begin, &args->end);
    plan->args_size = sizeof *args;
    int64_t vectors = permute_divide_up(args->bytes + args->lead, PERMUTE_WIDEST);
    if (!call->out.contiguous) {
        const int64_t of_row = vectors_of_row(&layout, &row);
        args->vectors = permute_divisor_of(of_row);
        args->count = vectors = args->bytes / row.bytes * of_row;
    }
    plan->grid.x =
        (unsigned)permute_divide_up(vectors, (int64_t)variant->block.x * variant->elements);
}
