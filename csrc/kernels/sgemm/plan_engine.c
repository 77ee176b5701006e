/* sgemm: the launches of kernels whose tiles the tensor copy engine brings. */
#include "sgemm/engine.h"

#include <string.h>

#include "backend/backend.h"
#include "sgemm/add_shares.h"
#include "sgemm/launches.h"
#include "sgemm/shares.h"
#include "sgemm/tf32x3.h"
#include "sgemm/warp_tile_tma.h"

/* ---- factors as the engine takes them -------------------------------------------------------- */

/* A B that is transposed on chip takes 3.5 percent longer beside an A that is transposed as well,
 * and else 1.2: of many rows of A that is more than the time in which B is written out. Measured on
 * an H200. */
bool sgemm_packs_b(const sgemm_factor *a, const sgemm_factor *b)
{
    enum { ROWS_OF_BOTH = 1600, ROWS = 4700 };
    const bool both = a->along_depth && a->vectors;
    return !b->vectors || (b->along_depth && a->lines > (both ? ROWS_OF_BOTH : ROWS));
}

/* Where the engine does not take a factor as it is, describes how it is written out, into memory
 * that the caller releases. */
static gm_status plan_pack(sgemm_factor *x, int64_t depth, bool along_depth, const gm_call *call,
                           sgemm_packed *packed, void **memory)
{
    const int64_t rows = along_depth ? x->lines : depth, columns = along_depth ? depth : x->lines;
    const int64_t pitch = (columns + 3) / 4 * 4;
    int64_t elements, bytes;
    if (!gm_multiply(rows, pitch, &elements) ||
        !gm_multiply(elements, (int64_t)sizeof(float), &bytes)) {
        return gm_fail(GM_ERROR_VALUE, "a factor of %lld x %lld is too large", (long long)rows,
                       (long long)columns);
    }
    gm_status status = gm_scratch(call, bytes, memory);
    if (status != GM_OK) {
        return status;
    }
    *packed = (sgemm_packed){
        .from = *x,
        .to = *memory,
        .pitch = pitch,
        .along_depth = along_depth,
        .tiles_x = (unsigned)divide_up(columns, SGEMM_PACK_SIDE),
        .tiles = (unsigned)(divide_up(columns, SGEMM_PACK_SIDE) * divide_up(rows, SGEMM_PACK_SIDE)),
    };
    x->data = *memory;
    x->along_depth = along_depth;
    x->vectors = true;
    x->line_stride = along_depth ? pitch : 1;
    x->depth_stride = along_depth ? 1 : pitch;
    return GM_OK;
}

/* Writes out the factors that the engine cannot take as they are, in one launch. */
static gm_status pack(const sgemm_boxes *boxes, const gm_call *call, sgemm_engine_args *args,
                      void *memory[2])
{
    const gm_variant *helper = sgemm_helper_pack;
    gm_plan plan = {.grid = {0, 1, 1}, .block = helper->block, .trace = call->trace};
    sgemm_pack_args own = {.depth = args->product.depth, .turn = args->turn};
    sgemm_factor *x = &args->product.a, *y = &args->product.b;
    const bool packs_b = sgemm_packs_b(x, y);
    gm_status status = GM_OK;
    if (!x->vectors || boxes->a[x->along_depth].width == 0) {
        status = plan_pack(x, own.depth, true, call, &own.factors[0], &memory[0]);
    }
    if (status == GM_OK && (packs_b || boxes->b[y->along_depth].width == 0)) {
        status = plan_pack(y, own.depth, false, call, &own.factors[1], &memory[1]);
    }
    plan.grid.x = own.factors[0].tiles + own.factors[1].tiles;
    if (status != GM_OK || plan.grid.x == 0) {
        return status;
    }
    memcpy(plan.args, &own, sizeof own);
    plan.args_size = sizeof own;
    return call->backend->launch(helper, &plan, call->stream);
}

gm_tensor sgemm_tensor(const sgemm_factor *x, int64_t depth)
{
    gm_tensor tensor = {
        .data = (void *)(uintptr_t)x->data,
        .itemsize = sizeof(float),
        .width = x->along_depth ? depth : x->lines,
        .height = x->along_depth ? x->lines : depth,
        .pitch = (x->along_depth ? x->line_stride : x->depth_stride) * (int64_t)sizeof(float),
    };
    if (tensor.height == 1) {
        tensor.pitch = (tensor.width + 3) / 4 * 16; /* of one row it may be anything */
    }
    return tensor;
}

static gm_status encode(gm_tensor *tensor, const sgemm_box *box, const gm_call *call,
                        gm_tensor_map *map)
{
    tensor->box_width = box->width;
    tensor->box_height = box->height;
    tensor->swizzled = box->swizzled;
    return call->backend->tensor_map(tensor, map);
}

gm_status sgemm_encode(const sgemm_boxes *boxes, bool a_along_depth, bool b_along_depth,
                       gm_tensor tensors[2], const gm_call *call, sgemm_engine_args *args)
{
    const bool both = a_along_depth && b_along_depth;
    const sgemm_box *of_a = both ? &boxes->a_of_both : &boxes->a[a_along_depth];
    const gm_status status = encode(&tensors[0], of_a, call, &args->a);
    return status == GM_OK ? encode(&tensors[1], &boxes->b[b_along_depth], call, &args->b) : status;
}

gm_status sgemm_bring(const sgemm_boxes *boxes, const gm_call *call, sgemm_engine_args *args,
                      void *memory[2])
{
    const sgemm_args *product = &args->product;
    const int64_t depth = product->depth;
    if (depth == 0) {
        return GM_OK;
    }
    gm_status status = pack(boxes, call, args, memory);
    if (status == GM_OK) {
        gm_tensor tensors[2] = {sgemm_tensor(&product->a, depth), sgemm_tensor(&product->b, depth)};
        status = sgemm_encode(boxes, product->a.along_depth, product->b.along_depth, tensors, call,
                              args);
    }
    return status;
}

const gm_variant *sgemm_way(const gm_variant *row, const gm_variant *const *parts,
                            const sgemm_args *product)
{
    const int way = 2 * !product->a.along_depth + product->b.along_depth;
    return way == 0 || product->depth == 0 ? row : parts[way - 1];
}

void sgemm_release(const gm_call *call, void *const *memory, int count)
{
    for (int i = 0; i < count; i++) {
        if (memory[i] != NULL) {
            gm_scratch_release(call, memory[i]);
        }
    }
}

/* ---- kernels whose tiles the engine brings --------------------------------------------------- */

const sgemm_boxes sgemm_warp_tile_tma_boxes = {
    .a = {{WARP_TILE_TMA_HEIGHT, WARP_TILE_TMA_DEPTH, false},
          {WARP_TILE_TMA_BOX, WARP_TILE_TMA_HEIGHT, false}},
    .b = {{WARP_TILE_TMA_WIDTH, WARP_TILE_TMA_DEPTH, false},
          {WARP_TILE_TMA_DEPTH, WARP_TILE_TMA_WIDTH, true}},
    .a_of_both = {WARP_TILE_TMA_DEPTH, WARP_TILE_TMA_HEIGHT, true},
};

static const sgemm_boxes tf32x3_boxes = {
    .a[1] = {TF32X3_DEPTH, TF32X3_TILE, true},
    .b[0] = {TF32X3_BOX, TF32X3_DEPTH, true},
};

typedef struct engine {
    const sgemm_boxes *boxes;
    const gm_variant *const *parts; /* see sgemm_way; NULL: one kernel for all */
    int depth;                      /* of a stage */
    sgemm_pace pace;
} engine;

/* Paces as measured on an H100 and an H200. A unit is 2.6 microseconds here, where sums come from
 * the L2; of tf32x3 it is 1.15. */
static const engine of_warp_tile_tma = {
    .boxes = &sgemm_warp_tile_tma_boxes,
    .parts = sgemm_parts_warp_tile_tma,
    .depth = WARP_TILE_TMA_DEPTH,
    .pace = {.blocks = 2, .alone = 1.07, .around = 2.4, .adding = 0.7, .bytes = 17e6},
};
static const engine of_tf32x3 = {
    .boxes = &tf32x3_boxes,
    .depth = TF32X3_DEPTH,
    .pace = {.blocks = 1, .alone = 1, .around = 8, .adding = 4, .bytes = 3.5e6},
};

static sgemm_shares best_shares(const engine *engine, const sgemm_args *product,
                                int64_t multiprocessors)
{
    return sgemm_best_shares(&engine->pace, multiprocessors, product->tiles_x * product->tiles_y,
                             divide_up(product->depth, engine->depth),
                             4.0 * (double)product->a.lines * (double)product->b.lines);
}

double sgemm_shares_time(const sgemm_args *product, int64_t multiprocessors)
{
    return best_shares(&of_warp_tile_tma, product, multiprocessors).time;
}

gm_status sgemm_share_out(const sgemm_args *asked, int64_t shares, const gm_call *call,
                          sgemm_engine_args *args, void **memory)
{
    const int64_t pitch = divide_up(asked->b.lines, 4) * 4;
    int64_t elements, bytes;
    if (!gm_multiply(asked->a.lines, pitch, &args->partial) ||
        !gm_multiply(args->partial, shares, &elements) ||
        !gm_multiply(elements, (int64_t)sizeof(float), &bytes)) {
        return gm_fail(GM_ERROR_VALUE, "the sums of %lld blocks are too large", (long long)shares);
    }
    gm_status status = gm_scratch(call, bytes, memory);
    sgemm_args *product = &args->product;
    product->out = *memory;
    product->out_stride = pitch;
    product->out_vectors = true;
    product->alpha = 1;
    product->beta = 0;
    return status;
}

gm_status sgemm_sum_shares(const sgemm_args *asked, const sgemm_engine_args *args, int64_t shares,
                           const gm_call *call)
{
    const gm_variant *helper = sgemm_helper_add_shares;
    const int log_sharers = add_shares_log_sharers(shares);
    gm_plan plan = {.grid = {0, 1, 1}, .block = helper->block, .trace = call->trace};
    *(sgemm_add_shares_args *)plan.args = (sgemm_add_shares_args){
        .product = *asked,
        .sums = args->product.out,
        .vectors = gm_divisor_of(args->product.out_stride / 4),
        .partial = args->partial,
        .shares = (int)shares,
        .log_sharers = log_sharers,
        .turn = args->turn,
    };
    plan.args_size = sizeof(sgemm_add_shares_args);
    plan.grid.x = (unsigned)divide_up(args->partial / 4, ADD_SHARES_THREADS >> log_sharers);
    return call->backend->launch(helper, &plan, call->stream);
}

static gm_status launch_by_engine(const engine *engine, const gm_variant *variant,
                                  const gm_call *call, const sgemm_turn *turn, gm_plan *plan)
{
    const sgemm_args *asked = (const sgemm_args *)plan->args;
    sgemm_engine_args args = {.product = *asked, .turn = *turn};
    sgemm_args *product = &args.product;
    void *memory[3] = {NULL, NULL, NULL};
    int64_t shares = 1;
    gm_status status = GM_OK;
    if (product->depth > 0) {
        const int64_t stages = divide_up(product->depth, engine->depth);
        args.stages = best_shares(engine, product, call->device->multiprocessors).stages;
        shares = divide_up(stages, args.stages);
        status = sgemm_bring(engine->boxes, call, &args, memory);
    }
    if (status == GM_OK && shares > 1) {
        status = sgemm_share_out(asked, shares, call, &args, &memory[2]);
    }
    if (status == GM_OK) {
        gm_plan own = *plan; /* the call's is kept for the next launch */
        memcpy(own.args, &args, sizeof args);
        own.args_size = sizeof args;
        own.grid.y = (unsigned)shares;
        const gm_variant *way =
            engine->parts ? sgemm_way(variant, engine->parts, product) : variant;
        own.shared_bytes = (size_t)way->shared_bytes;
        status = call->backend->launch(way, &own, call->stream);
    }
    if (status == GM_OK && shares > 1) {
        status = sgemm_sum_shares(asked, &args, shares, call);
    }
    sgemm_release(call, memory, 3);
    return status;
}

gm_status sgemm_launch_in_turn(const gm_variant *variant, const gm_call *call,
                               const sgemm_turn *turn, gm_plan *plan)
{
    const bool tf32x3 = variant->launch == sgemm_launch_tf32x3;
    return launch_by_engine(tf32x3 ? &of_tf32x3 : &of_warp_tile_tma, variant, call, turn, plan);
}

gm_status sgemm_launch_warp_tile_tma(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    static const sgemm_turn always;
    return sgemm_launch_in_turn(variant, call, &always, plan);
}

gm_status sgemm_launch_tf32x3(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    static const sgemm_turn always;
    return sgemm_launch_in_turn(variant, call, &always, plan);
}
