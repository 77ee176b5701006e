/* transpose: the family. Shapes, the choice for "auto", and the plans of its kernels. */
#include "transpose/transpose.h"

#include <string.h>

#include "backend/backend.h"
#include "transpose/choose.h"
#include "transpose/launches.h"
#include "transpose/plan_vectors.h"

static gm_status launch_shifted_wide(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_narrow(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_narrow_words(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#include "family.h"

enum { BLOCK_X, BLOCK_Y };
enum { MAX_GRID_Y = 65535, MAX_GRID_Z = 65535 };

/* The bounds of the ladder, which copy. */
static bool is_copy(const gm_variant *variant)
{
    return variant == &variants[transpose_row_copy_row] ||
           variant == &variants[transpose_row_copy_col];
}

/* A stack of matrices: its axes but the last two stay where they are. */
static gm_status stack_result(gm_call *call)
{
    const gm_array *in = &call->in[0];
    int last = in->ndim - 1;
    if (call->variant && call->variant != &variants[transpose_row_strided]) {
        return gm_fail(GM_ERROR_VALUE,
                       "a has %d dimension%s, variant %s takes 2 (variant=\"auto\" takes stacks of "
                       "matrices)",
                       in->ndim, GM_PLURAL(in->ndim), call->variant->name);
    }
    call->out.ndim = in->ndim;
    memcpy(call->out.shape, in->shape, (size_t)in->ndim * sizeof *in->shape);
    call->out.shape[last] = in->shape[last - 1];
    call->out.shape[last - 1] = in->shape[last];
    return GM_OK;
}

static gm_status transpose_result(gm_call *call)
{
    const gm_array *in = &call->in[0];
    if (in->ndim < 2) {
        return gm_fail(GM_ERROR_VALUE, "a has %d dimension%s, expected at least 2", in->ndim,
                       in->ndim == 1 ? "" : "s");
    }
    int64_t x = call->parameters[BLOCK_X].integer, y = call->parameters[BLOCK_Y].integer;
    if (x != 0 || y != 0) {
        int grid = call->variant ? call->variant->grid : GRID_NONE;
        if (grid == GRID_NONE || grid >= GRID_TILES) {
            return gm_fail(GM_ERROR_VALUE,
                           "block is (%lld, %lld), but variant %s has a block of its own; block "
                           "can be set for those without shared memory",
                           (long long)x, (long long)y,
                           call->variant ? call->variant->name : "auto");
        }
        if (x < 1 || y < 1 || x > 1024 || y > 1024 || x * y > 1024) {
            return gm_fail(GM_ERROR_VALUE,
                           "block is (%lld, %lld), expected at least one thread each way and at "
                           "most 1024 together",
                           (long long)x, (long long)y);
        }
    }
    if (in->ndim > 2) {
        return stack_result(call);
    }
    bool same = is_copy(call->variant);
    call->out.ndim = 2;
    call->out.shape[0] = in->shape[same ? 0 : 1];
    call->out.shape[1] = in->shape[same ? 1 : 0];
    return GM_OK;
}

/* ---- grids --------------------------------------------------------------------------------- */

/* Columns and rows of the input that a block moves at a time. */
static void find_tile(const gm_variant *variant, const gm_plan *plan, int64_t *cols, int64_t *rows)
{
    int64_t along = (int64_t)plan->block.x * variant->elements;
    switch (variant->grid) {
    case GRID_ROWS:
    case GRID_DIAGONAL_ROWS:
        *cols = along;
        *rows = plan->block.y;
        break;
    case GRID_COLUMNS:
    case GRID_DIAGONAL_COLUMNS:
        *cols = plan->block.y;
        *rows = along;
        break;
    default: *cols = variant->tile.x; *rows = variant->tile.y;
    }
}

/*
 * log2 of the parts of the width between which blocks alternate, see transpose_place_of. Rows that
 * are a large power of two apart load memory channels unevenly; parts that are 64 KiB apart even
 * that out. Measured on an H200: 2 to 4 % for pitches from 128 to 512 KiB, a loss for others.
 */
static unsigned find_stream_bits(const transpose_args *args)
{
    int64_t low = args->pitch & -args->pitch;
    for (unsigned bits = 1; bits <= 3; bits++) {
        if (low == (int64_t)65536 << bits && args->tiles_x >= (int64_t)1 << bits) {
            return bits;
        }
    }
    return 0;
}

/*
 * Tiles of a band: neighbouring columns share sectors, and pairs of them, which the L2 no longer
 * has at the end of a long column. On an H200, memory read 25 to 31 % more than the matrix has
 * where a column of 90 MB was walked whole.
 */
static int64_t find_band(const gm_variant *variant, const gm_call *call, const transpose_args *args)
{
    enum { BAND = 128 };
    static const double WHOLE = 0.25; /* of the L2: columns that are not cut */
    double column = (double)args->rows * variant->tile.x * args->itemsize;
    if (args->tiles_x == 1 || column <= WHOLE * (double)call->device->l2_bytes) {
        return args->tiles_y;
    }
    int64_t bands = transpose_smaller(transpose_divide_up(args->tiles_y, BAND), MAX_GRID_Z);
    return transpose_divide_up(args->tiles_y, bands); /* of about the same height */
}

/* The grid of transpose_place_of: one column of tiles after another. */
static gm_status plan_walk(const gm_variant *variant, const gm_call *call, gm_plan *plan,
                           transpose_args *args)
{
    bool plain = variant->grid == GRID_TILES;
    args->stream_bits = plain ? 0 : find_stream_bits(args);
    int64_t parts = (int64_t)1 << args->stream_bits;
    int64_t columns = transpose_divide_up(args->tiles_x, parts);
    int64_t band = args->tiles_y, deep = 1;
    args->stream_width = (uint32_t)columns;
    if (columns > MAX_GRID_Y) {
        deep = transpose_divide_up(columns, MAX_GRID_Y);
        columns = MAX_GRID_Y;
        args->z_width = MAX_GRID_Y;
    } else if (!plain) {
        band = find_band(variant, call, args);
        deep = transpose_divide_up(args->tiles_y, band);
        args->z_height = (uint32_t)band;
    }
    if (band * parts > call->device->max_grid_x || deep > MAX_GRID_Z) {
        return gm_fail(GM_ERROR_VALUE,
                       "a has %lld by %lld tiles of variant %s, more than a grid has blocks",
                       (long long)args->tiles_x, (long long)args->tiles_y, variant->name);
    }
    plan->grid.x = (unsigned)(band * parts);
    plan->grid.y = (unsigned)columns;
    plan->grid.z = (unsigned)deep;
    return GM_OK;
}

enum {
    LINES = 2048 /* bytes of the L2 per row: its lines, and all until the next tile reads them */
};

/* shifted:b8: the halo, and the tiles of so many rows, halo included, down the matrix. */
static int64_t plan_halo(const gm_call *call, transpose_args *args, int64_t rows)
{
    uintptr_t bits = (uintptr_t)call->out.data | (uintptr_t)args->rows | GM_SECTOR;
    args->halo = GM_SECTOR - (unsigned)(bits & (0 - bits));
    return transpose_divide_up(args->rows + args->halo, rows - args->halo);
}

static gm_status plan_tiles(const gm_variant *variant, const gm_call *call, gm_plan *plan,
                            transpose_args *args)
{
    int64_t cols, rows;
    find_tile(variant, plan, &cols, &rows);
    args->tiles_x = transpose_divide_up(args->cols, cols);
    args->tiles_y = transpose_divide_up(args->rows, rows);
    args->lines = args->rows <= call->device->l2_bytes / LINES;
    switch (variant->grid) {
    case GRID_ROWS:
        plan->grid.x = (unsigned)transpose_smaller(args->tiles_x, call->device->max_grid_x);
        plan->grid.y = (unsigned)transpose_smaller(args->tiles_y, MAX_GRID_Y);
        return GM_OK;
    case GRID_COLUMNS:
        plan->grid.x = (unsigned)transpose_smaller(args->tiles_y, call->device->max_grid_x);
        plan->grid.y = (unsigned)transpose_smaller(args->tiles_x, MAX_GRID_Y);
        return GM_OK;
    case GRID_DIAGONAL_ROWS:
    case GRID_DIAGONAL_COLUMNS: /* they loop */
        plan->grid.x =
            (unsigned)transpose_smaller(args->tiles_x * args->tiles_y, call->device->max_grid_x);
        return GM_OK;
    case GRID_SHIFTED:
        args->tiles_y =
            args->itemsize == 1
                ? plan_halo(call, args, rows + GM_SECTOR)
                : transpose_divide_up(args->rows + GM_SECTOR / args->itemsize - 1, rows);
        return plan_walk(variant, call, plan, args);
    default: return plan_walk(variant, call, plan, args);
    }
}

/* narrow: elements of a strip, where a tile has room for so many: as many for each thread of a
 * block or, where that would leave too many out, for each lane of a warp. A multiple of 8 rows
 * begins, with all of its columns, at 16 bytes. */
static int64_t find_strip(const gm_variant *variant, int64_t room)
{
    int64_t threads = variant->block.x, step = room >= 2 * threads ? threads : room >= 32 ? 32 : 8;
    return room / step * step;
}

/* narrow_words: elements of a strip, where a tile has room for so many: whole steps of its warps,
 * less what these hold back where strips of the output do not all begin with a sector. A multiple
 * of 16 rows begins at 16 bytes. */
static int64_t find_steps(const gm_call *call, const transpose_args *args, int64_t room)
{
    uintptr_t bits = (uintptr_t)call->out.data | (uintptr_t)(args->rows * args->itemsize);
    int64_t step = 128 / args->itemsize;
    int64_t less = bits % GM_SECTOR == 0 ? 0 : GM_SECTOR / args->itemsize;
    int64_t steps = (room + less) / step;
    return (steps > 0 ? steps * step - less : room) / 16 * 16;
}

static gm_status plan_narrow(const gm_variant *variant, const gm_call *call, gm_plan *plan,
                             transpose_args *args)
{
    bool words = variant->grid == GRID_NARROW_WORDS;
    bool columns = args->cols <= args->rows;
    int64_t few = columns ? args->cols : args->rows, many = columns ? args->rows : args->cols;
    int64_t row = words && columns ? args->pitch : few * args->itemsize; /* of the tile */
    int64_t bytes = words ? LINEAR_BYTES : LINEAR_BYTES / 2;
    /* Work for every multiprocessor, but tiles of a least size. */
    int64_t least = words ? 8192 : row > 64 ? 32 * row : 2048;
    while (bytes / 2 >= least && row * many < bytes * call->device->multiprocessors) {
        bytes /= 2;
    }
    int64_t room = bytes / row;
    if (!words) {
        args->strip = find_strip(variant, room);
    } else if (columns) {
        args->strip = find_steps(call, args, room);
    } else {
        args->strip = 1;
        while (2 * args->strip <= room) {
            args->strip *= 2;
        }
    }
    int64_t blocks = transpose_divide_up(many, args->strip);
    if (blocks > call->device->max_grid_x) {
        return gm_fail(GM_ERROR_VALUE, "a has too many rows for variant %s", variant->name);
    }
    plan->grid.x = (unsigned)blocks;
    return GM_OK;
}

/* Both matrices as the tensor copy engine takes them. */
static gm_status plan_tensor(const gm_variant *variant, const gm_call *call, gm_plan *plan,
                             const transpose_args *walk)
{
    enum { BOX_WIDTH = 32 }; /* words: the 128 bytes within which it swizzles */
    transpose_tma_args args = {.walk = *walk};
    gm_tensor in = {
        .data = call->in[0].data,
        .itemsize = 4,
        .width = walk->cols,
        .height = walk->rows,
        .pitch = walk->pitch,
        .box_width = BOX_WIDTH,
        .box_height = variant->tile.y,
        .swizzled = true,
    };
    gm_tensor out = in;
    out.data = call->out.data;
    out.width = walk->rows;
    out.height = walk->cols;
    out.pitch = walk->rows * 4;
    out.box_height = variant->tile.x;
    gm_status status = call->backend->tensor_map(&in, &args.in);
    if (status == GM_OK) {
        status = call->backend->tensor_map(&out, &args.out);
    }
    memcpy(plan->args, &args, sizeof args);
    plan->args_size = sizeof args;
    return status;
}

static gm_status transpose_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *in = &call->in[0];
    transpose_args args = {
        .in = in->data,
        .out = call->out.data,
        .rows = in->shape[0],
        .cols = in->shape[1],
        .pitch = transpose_pitch(in),
        .out_pitch = in->shape[0] * in->itemsize,
        .itemsize = (int)in->itemsize,
    };
    if (in->bytes == 0) {
        return GM_OK; /* no blocks */
    }
    if (call->parameters[BLOCK_X].integer) {
        plan->block.x = (unsigned)call->parameters[BLOCK_X].integer;
        plan->block.y = (unsigned)call->parameters[BLOCK_Y].integer;
    }
    gm_status status = GM_OK;
    plan->grid.x = 1; /* something to do, if not by a kernel of our own */
    if (variant->grid == GRID_NARROW || variant->grid == GRID_NARROW_WORDS) {
        status = plan_narrow(variant, call, plan, &args);
    } else if (variant->grid == GRID_NARROW_VECTORS) {
        return transpose_plan_vectors(variant, call, plan, &args);
    } else if (variant->grid != GRID_NONE) {
        status = plan_tiles(variant, call, plan, &args);
    }
    memcpy(plan->args, &args, sizeof args);
    plan->args_size = sizeof args;
    if (status == GM_OK && variant->grid == GRID_TENSOR) {
        status = plan_tensor(variant, call, plan, &args);
    }
    return status;
}

/* The kernel for a column of tiles of which the L2 has room for whole lines, and for others. */
static gm_status launch_shifted_wide(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const transpose_args *args = (const transpose_args *)plan->args;
    const gm_variant *kernel = args->lines ? variant : &part_shifted_b8_wide_stream;
    return call->backend->launch(kernel, plan, call->stream);
}

/* The kernel for the size of the elements, and for few columns or few rows. */
static gm_status launch_narrow(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    static const gm_variant *const kernels[][2] = {
        {&part_narrow_b8_rows, &variants[transpose_row_narrow]},
        {&part_narrow_b16_rows, &part_narrow_b16},
        {&part_narrow_b32_rows, &part_narrow_b32},
        {&part_narrow_b64_rows, &part_narrow_b64},
        {&part_narrow_b128_rows, &part_narrow_b128},
    };
    const transpose_args *args = (const transpose_args *)plan->args;
    int power = 0;
    while (1 << power < args->itemsize) {
        power++;
    }
    (void)variant;
    return call->backend->launch(kernels[power][args->cols <= args->rows], plan, call->stream);
}

/* The kernel for the size of the elements, for vectors on the side where all is in a row, and for
 * where rows of the tile begin. */
static gm_status launch_narrow_words(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    static const gm_variant *const of_bytes[2][4] = {
        {&part_narrow_words_b8_loose_0, &part_narrow_words_b8_loose_1,
         &part_narrow_words_b8_loose_2, &part_narrow_words_b8_loose_3},
        {&variants[transpose_row_narrow_words], &part_narrow_words_b8_1, &part_narrow_words_b8_2,
         &part_narrow_words_b8_3},
    };
    static const gm_variant *const of_halves[2][2] = {
        {&part_narrow_words_b16_loose_0, &part_narrow_words_b16_loose_2},
        {&part_narrow_words_b16_0, &part_narrow_words_b16_2},
    };
    const transpose_args *args = (const transpose_args *)plan->args;
    const bool columns = args->cols <= args->rows;
    const int64_t row = columns ? args->pitch : args->rows * args->itemsize; /* of the tile */
    const bool whole = (uintptr_t)(columns ? args->in : args->out) % 16 == 0;
    (void)variant;
    return call->backend->launch(args->itemsize == 1 ? of_bytes[whole][row & 3]
                                                     : of_halves[whole][(row & 3) / 2],
                                 plan, call->stream);
}

/* Columns, which are rows of the result; of a stack, its matrices. */
static int transpose_split(const gm_call *call, int input)
{
    (void)input;
    return call->in[0].ndim == 2 ? 1 : 0;
}

static const gm_operand inputs[] = {{.name = "a"}};
static const gm_parameter parameters[] = {
    [BLOCK_X] = {"block[0]", 0, INT32_MAX, false}, /* 0: the variant's own */
    [BLOCK_Y] = {"block[1]", 0, INT32_MAX, false},
};

const gm_family gm_family_transpose = {
    .name = "transpose",
    .doc = "transpose a matrix: one side of the move is rows, the other is columns",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 1,
    .parameters = parameters,
    .parameter_count = 2,
    .result = transpose_result,
    .choose = transpose_choose,
    .keeps_choice = true,
    .split = transpose_split,
    .plan = transpose_plan,
};
