/*
 * matmul: which stacks the tensor copy engine takes, and their launch.
 *
 * The engine needs a factor in rows that begin at multiples of 16 bytes, of a single stack or
 * repeated. Rows are lines or steps of the depth.
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
    if (suits_engine(&args->a, args->depth, args->step_a[0]) &&
        suits_engine(&args->b, args->depth, args->step_b[0])) {
        return GM_OK;
    }
    return gm_fail(
        GM_ERROR_VALUE,
        "variant %s needs contiguous rows or columns that begin at multiples of 16 bytes "
        "(variant=\"auto\" takes any layout)",
        variant->name);
}

/* ---- the launch ------------------------------------------------------------------------------ */

/* All matrices of a factor, which are `step` floats apart. */
static gm_tensor describe(const sgemm_factor *x, const matmul_args *args, int64_t step)
{
    gm_tensor tensor = sgemm_tensor(x, args->depth);
    tensor.planes = step == 0 ? 1 : args->products;
    tensor.plane_pitch = step * (int64_t)sizeof(float);
    return tensor;
}

/* The call's plan is kept for the next launch: the arguments are a copy. */
gm_status matmul_tma_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const matmul_args *args = (const matmul_args *)plan->args;
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
    gm_status status = GM_OK;
    if (args->depth > 0) {
        gm_tensor tensors[2] = {describe(&args->a, args, args->step_a[0]),
                                describe(&args->b, args, args->step_b[0])};
        status = sgemm_encode(&sgemm_warp_tile_tma_boxes, args->a.along_depth, args->b.along_depth,
                              tensors, call, &own.each);
    }
    if (status != GM_OK) {
        return status;
    }
    gm_plan launched = *plan;
    memcpy(launched.args, &own, sizeof own);
    launched.args_size = sizeof own;
    launched.shared_bytes = (size_t)variant->shared_bytes;
    return call->backend->launch(variant, &launched, call->stream);
}
