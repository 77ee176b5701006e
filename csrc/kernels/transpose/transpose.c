/* transpose: the family. Shapes, the choice for "auto", and the plans of its kernels. */
#include "transpose/transpose.h"

#include <string.h>

#include "backend/backend.h"
#include "transpose/launches.h"

/* What a row of the ladder says of its grid. */
enum {
    GRID_NONE,
    GRID_ROWS,             /* two dimensions, x runs along a row of the input */
    GRID_COLUMNS,          /* two dimensions, x runs down a column of the input */
    GRID_DIAGONAL_ROWS,    /* tiles of GRID_ROWS, taken along diagonals */
    GRID_DIAGONAL_COLUMNS, /* tiles of GRID_COLUMNS, taken along diagonals */
    GRID_TILES,            /* the row's own tiles, in bands */
};

#define GM_FAMILY transpose
#define GM_LADDER "transpose/ladder.def"
#include "family.h"

enum { BLOCK_X, BLOCK_Y };
enum { MAX_GRID_Y = 65535 };

/* The bounds of the ladder, whose result is the input. */
static bool is_copy(const gm_variant *variant)
{
    return variant &&
           (strcmp(variant->name, "copy_row") == 0 || strcmp(variant->name, "copy_col") == 0);
}

static gm_status transpose_result(gm_call *call)
{
    const gm_array *in = &call->in[0];
    if (in->ndim != 2) {
        return gm_fail(GM_ERROR_VALUE, "a has %d dimensions, expected 2", in->ndim);
    }
    int64_t x = call->parameters[BLOCK_X].integer, y = call->parameters[BLOCK_Y].integer;
    if (x != 0 || y != 0) {
        int grid = call->variant ? call->variant->grid : GRID_NONE;
        if (grid == GRID_NONE || grid == GRID_TILES) {
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
    bool same = is_copy(call->variant);
    call->out.ndim = 2;
    call->out.shape[0] = in->shape[same ? 0 : 1];
    call->out.shape[1] = in->shape[same ? 1 : 0];
    return GM_OK;
}

static const gm_variant *transpose_choose(const gm_call *call)
{
    static const char *const names[] = {"tile_vec4", "tile_padded"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const gm_variant *variant = gm_find_variant(call->family, names[i]);
        if (gm_variant_can(variant, call)) {
            return variant;
        }
    }
    return gm_find_variant(call->family, "strided");
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Columns and rows of the input that a block covers at a time. */
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

static gm_status transpose_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *in = &call->in[0];
    transpose_args args = {
        .in = in->data,
        .out = call->out.data,
        .rows = in->shape[0],
        .cols = in->shape[1],
        .pitch = in->shape[0] > 1 ? in->strides[0] : in->shape[1] * in->itemsize,
        .itemsize = (int)in->itemsize,
    };
    if (in->bytes == 0) {
        return GM_OK; /* no blocks */
    }
    if (call->parameters[BLOCK_X].integer) {
        plan->block.x = (unsigned)call->parameters[BLOCK_X].integer;
        plan->block.y = (unsigned)call->parameters[BLOCK_Y].integer;
    }
    plan->grid.x = 1; /* something to do, if not by a kernel of our own */
    if (variant->grid != GRID_NONE) {
        int64_t cols, rows, most = call->device->max_grid_x;
        find_tile(variant, plan, &cols, &rows);
        args.tiles_x = divide_up(args.cols, cols);
        args.tiles_y = divide_up(args.rows, rows);
        switch (variant->grid) {
        case GRID_ROWS:
            plan->grid.x = (unsigned)smaller(args.tiles_x, most);
            plan->grid.y = (unsigned)smaller(args.tiles_y, MAX_GRID_Y);
            break;
        case GRID_COLUMNS:
            plan->grid.x = (unsigned)smaller(args.tiles_y, most);
            plan->grid.y = (unsigned)smaller(args.tiles_x, MAX_GRID_Y);
            break;
        default: plan->grid.x = (unsigned)smaller(args.tiles_x * args.tiles_y, most);
        }
        args.band = args.tiles_y;
    }
    memcpy(plan->args, &args, sizeof args);
    plan->args_size = sizeof args;
    return GM_OK;
}

static const gm_operand inputs[] = {{.name = "a"}};
static const gm_parameter parameters[] = {
    [BLOCK_X] = {"block[0]", 0, INT32_MAX, false}, /* 0: the variant's own */
    [BLOCK_Y] = {"block[1]", 0, INT32_MAX, false},
};

const gm_family gm_family_transpose = {
    .name = "transpose",
    .doc = "turn a matrix: both sides of a move cannot be rows",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 1,
    .parameters = parameters,
    .parameter_count = 2,
    .result = transpose_result,
    .choose = transpose_choose,
    .plan = transpose_plan,
};
