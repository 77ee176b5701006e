/*
 * matmul: which stacks the tensor copy engine takes, and their launch.
 *
 * The engine needs a factor in rows that begin at multiples of 16 bytes, of a single stack or
 * repeated. Rows of A are lines or steps of the depth, rows of B are steps of the depth. A stack
 * whose B has contiguous columns is transposed first, by a copy.
 */
#include <string.h>

#include "backend/backend.h"
#include "matmul/launches.h"
#include "matmul/model.h"
#include "matmul/tma.h"
#include "sgemm/launches.h"

/* The distance of its rows must be positive, and so must that of its matrices, or 0: repeated. */
static bool suits_engine(const matmul_factor *x, int64_t depth, int64_t step)
{
    const int64_t rows = x->along_depth ? x->lines : depth;
    const int64_t pitch = x->along_depth ? x->line_stride : x->depth_stride;
    return x->vectors && step >= 0 && (rows <= 1 || pitch > 0);
}

gm_status matmul_suits_tma(const gm_variant *variant, const gm_call *call, const matmul_args *args)
{
    const int64_t rows = args->a.lines, columns = args->b.lines;
    if (call->out.size == 0 || args->depth == 0) {
        return GM_OK;
    }
    if (rows > INT32_MAX || columns > INT32_MAX || args->depth > INT32_MAX) {
        return gm_fail(
            GM_ERROR_VALUE, "variant %s takes sides of up to %d elements, not %lld x %lld x %lld",
            variant->name, INT32_MAX, (long long)rows, (long long)columns, (long long)args->depth);
    }
    if (args->axes > 1) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s takes a stack with one axis, this one has %d that cannot be "
                       "merged (variant=\"auto\" takes any layout)",
                       variant->name, args->axes);
    }
    if (args->b.along_depth && columns % 4 != 0) {
        return gm_fail(
            GM_ERROR_VALUE,
            "variant %s transposes a b whose columns are contiguous if their number is a "
            "multiple of 4, not %lld (variant=\"auto\" takes any layout)",
            variant->name, (long long)columns);
    }
    if (suits_engine(&args->a, args->depth, args->step_a[0]) &&
        (args->b.along_depth || suits_engine(&args->b, args->depth, args->step_b[0]))) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "variant %s needs contiguous rows, or columns of a, that begin at multiples of "
                   "16 bytes (variant=\"auto\" takes any layout)",
                   variant->name);
}

/* ---- a B whose columns are contiguous -------------------------------------------------------- */

static int64_t matrices_of_b(const matmul_args *args)
{
    return args->step_b[0] == 0 ? 1 : args->products;
}

double matmul_tma_bytes_first(const matmul_args *args)
{
    const double numbers = (double)args->depth * (double)args->b.lines;
    return args->b.along_depth ? 8 * numbers * (double)matrices_of_b(args) : 0;
}

/* Copies B, so that its rows are contiguous, to memory that the caller releases. */
static gm_status transpose_b(matmul_args *args, const gm_call *call, gm_plan plan, void **memory)
{
    const int64_t unit = sizeof(float), lines = args->b.lines, rows = args->depth;
    gm_array from = {
        .data = (char *)(uintptr_t)args->b.data,
        .itemsize = unit,
        .ndim = 3,
        .kind = 'f',
        .memory = GM_DEVICE,
        .shape = {matrices_of_b(args), rows, lines},
        .strides = {args->step_b[0] * unit, args->b.depth_stride * unit,
                    args->b.line_stride * unit},
    };
    if (!gm_multiply(from.shape[0], rows, &from.size) ||
        !gm_multiply(from.size, lines, &from.size) || !gm_multiply(from.size, unit, &from.bytes)) {
        return gm_fail(GM_ERROR_VALUE, "a stack of %lld matrices of %lld x %lld is too large",
                       (long long)from.shape[0], (long long)rows, (long long)lines);
    }
    gm_status status = gm_scratch(call, from.bytes, memory);
    if (status != GM_OK) {
        return status;
    }
    gm_array to = from;
    to.data = *memory;
    to.contiguous = true;
    to.strides[0] = rows * lines * unit;
    to.strides[1] = lines * unit;
    to.strides[2] = unit;
    args->b.data = *memory;
    args->b.line_stride = 1;
    args->b.depth_stride = lines;
    args->b.along_depth = false;
    args->b.vectors = true;
    args->step_b[0] = args->step_b[0] == 0 ? 0 : rows * lines;
    return gm_launch_copy(call, &from, &to, &plan);
}

/* ---- the launch ------------------------------------------------------------------------------ */

/* All matrices of a factor, which are `step` floats apart. */
static gm_status encode(const sgemm_factor *x, const matmul_args *args, int64_t step,
                        const gm_call *call, gm_tensor_map *map)
{
    gm_tensor tensor = sgemm_tensor(x, args->depth);
    tensor.planes = step == 0 ? 1 : args->products;
    tensor.plane_pitch = step * (int64_t)sizeof(float);
    /* As wide as a tile of a stage, or as deep as the boxes that keep the depth contiguous. */
    tensor.box_width = x->along_depth ? WARP_TILE_TMA_BOX : WARP_TILE_TMA_WIDTH;
    tensor.box_height = x->along_depth ? WARP_TILE_TMA_HEIGHT : WARP_TILE_TMA_DEPTH;
    return call->backend->tensor_map(&tensor, map);
}

/* Of the factors as they are. */
static gm_status launch(const gm_variant *variant, const gm_call *call, const matmul_args *args,
                        gm_plan plan)
{
    matmul_tma_args own = {
        .each.product =
            {
                .a = args->a,
                .b = args->b,
                .depth = args->depth,
                .alpha = 1,
                .out = args->out,
                .out_stride = args->b.lines,
                .out_vectors = args->out_vectors,
                .tiles_x = args->tiles_x,
                .tiles_y = args->tiles_y,
                .group = args->tiles_y < SGEMM_GROUP ? (unsigned)args->tiles_y : SGEMM_GROUP,
            },
        .each.stages = matmul_divide_up(args->depth, WARP_TILE_TMA_DEPTH),
        .repeated_a = args->step_a[0] == 0,
        .repeated_b = args->step_b[0] == 0,
    };
    sgemm_args *product = &own.each.product;
    gm_status status = GM_OK;
    if (args->depth > 0) {
        status = encode(&product->a, args, args->step_a[0], call, &own.each.a);
    }
    if (args->depth > 0 && status == GM_OK) {
        status = encode(&product->b, args, args->step_b[0], call, &own.each.b);
    }
    if (status != GM_OK) {
        return status;
    }
    memcpy(plan.args, &own, sizeof own);
    plan.args_size = sizeof own;
    return call->backend->launch(variant, &plan, call->stream);
}

/* The call's plan is kept for the next launch: others work on copies of it. */
gm_status matmul_tma_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    matmul_args args = *(const matmul_args *)plan->args;
    void *memory = NULL;
    gm_status status = GM_OK;
    if (args.b.along_depth && args.depth > 0) {
        status = transpose_b(&args, call, *plan, &memory);
    }
    if (status == GM_OK) {
        status = launch(variant, call, &args, *plan);
    }
    if (memory != NULL) {
        gm_scratch_release(call, memory);
    }
    return status;
}
