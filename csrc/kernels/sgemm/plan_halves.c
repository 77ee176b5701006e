/* sgemm: the launch of fp16x3 and fp16x3_multicast: factors as halves, the check, the product, and
 * what is launched instead. */
#include "sgemm/halves.h"

#include <string.h>

#include "backend/backend.h"
#include "sgemm/fp16x3.h"
#include "sgemm/launches.h"
#include "sgemm/shares.h"

enum {
    BLOCKS = 8,      /* that split, per multiprocessor, where lines are contiguous */
    MOST_SLABS = 64, /* at most HALVES_JUDGES */
    ALIGNMENT = 256, /* bytes */
    /* Shorter sums are computed in FP32, whose errors are small there. Nor would a factor of a few
     * steps, padded to 32 of them, fit into memory as it does without. */
    LEAST_DEPTH = 128,
    MOST_DEPTH = 1 << 29, /* the copy engine counts the halves of a line in 32 bits */
    /* From here on tf32x3 is as accurate as FP32 also for numbers of a wide range. */
    DEEP = 2048,
};

/* A factor, and what is made of it. */
typedef struct split {
    const gm_variant *finder, *splitter; /* finder: NULL if there is none */
    sgemm_halves_args args;
    int64_t blocks; /* of a slab */
} split;

/* Lengths in elements; the addresses come later. */
static split describe(const sgemm_factor *x, int64_t depth, const gm_call *call)
{
    const int64_t tiles = divide_up(depth, HALVES_LINES);
    split made = {
        .splitter = x->along_depth ? sgemm_helper_halves_along : sgemm_helper_halves_across,
        .finder = x->along_depth ? NULL : sgemm_helper_halves_largest,
        .blocks = x->along_depth ? x->lines : divide_up(x->lines, HALVES_LINES),
        .args = {.from = *x,
                 .depth = depth,
                 .pitch = divide_up(depth, HALVES_STEPS) * FP16X3_BOX,
                 .slab = tiles * HALVES_LINES,
                 .slabs = 1},
    };
    if (!x->along_depth) {
        const int64_t wanted =
            divide_up((int64_t)call->device->multiprocessors * BLOCKS, made.blocks);
        const int64_t slabs = least_of(least_of(wanted, tiles), MOST_SLABS);
        made.args.slab = divide_up(tiles, slabs > 0 ? slabs : 1) * HALVES_LINES;
        made.args.slabs = (int)divide_up(depth, made.args.slab);
    }
    return made;
}

/* The next `bytes` of a piece of memory, of which *used are taken; only counted if it is NULL. */
static void *take(char *memory, int64_t bytes, int64_t *used)
{
    void *taken = memory ? memory + *used : NULL;
    *used += divide_up(bytes, ALIGNMENT) * ALIGNMENT;
    return taken;
}

static void place(split *x, char *memory, int64_t *used)
{
    sgemm_halves_args *args = &x->args;
    const int64_t lines = args->from.lines, words = (int64_t)sizeof(uint32_t);
    args->to = take(memory, lines * args->pitch * (int64_t)sizeof(uint16_t), used);
    args->scales = take(memory, lines * words, used);
    args->counted = take(memory, x->blocks * args->slabs * (int64_t)sizeof(halves_count), used);
    args->largest = take(memory, x->finder ? lines * args->slabs * words : 0, used);
}

/* Of both factors and the verdict, to be released by the caller. */
static gm_status place_all(split of[2], const gm_call *call, uint32_t **verdict, void **memory)
{
    int64_t elements[2], used = 0, bytes;
    for (int i = 0; i < 2; i++) {
        if (!gm_multiply(of[i].args.from.lines, of[i].args.pitch, &elements[i]) ||
            !gm_multiply(elements[i], 4 * (int64_t)sizeof(uint16_t), &bytes)) {
            return gm_fail(GM_ERROR_VALUE, "a factor of %lld x %lld is too large",
                           (long long)of[i].args.from.lines, (long long)of[i].args.depth);
        }
        place(&of[i], NULL, &used);
    }
    gm_status status = gm_scratch(call, used + ALIGNMENT, memory);
    if (status == GM_OK) {
        used = 0;
        *verdict = take(*memory, (int64_t)sizeof(uint32_t), &used);
        place(&of[0], *memory, &used);
        place(&of[1], *memory, &used);
    }
    return status;
}

/* Launches a helper with these arguments. */
static gm_status help(const gm_variant *helper, const void *args, size_t size, int64_t blocks,
                      const gm_call *call)
{
    gm_plan plan = {.grid = {(unsigned)blocks, 1, 1}, .block = helper->block, .trace = call->trace};
    memcpy(plan.args, args, size);
    plan.args_size = size;
    return call->backend->launch(helper, &plan, call->stream);
}

static gm_status split_factor(const split *x, const gm_call *call)
{
    const int64_t blocks = x->blocks * x->args.slabs;
    gm_status status = GM_OK;
    if (x->finder) {
        status = help(x->finder, &x->args, sizeof x->args, blocks, call);
    }
    return status == GM_OK ? help(x->splitter, &x->args, sizeof x->args, blocks, call) : status;
}

static halves_counts counts_of(const split *x)
{
    return (halves_counts){x->args.counted, x->blocks, x->args.slabs};
}

static gm_status split_and_judge(const split of[2], uint32_t *verdict, const gm_call *call)
{
    const sgemm_judge_args judge = {
        .a = counts_of(&of[0]),
        .b = counts_of(&of[1]),
        .depth = of[0].args.depth,
        .verdict = verdict,
    };
    gm_status status = split_factor(&of[0], call);
    if (status == GM_OK) {
        status = split_factor(&of[1], call);
    }
    return status == GM_OK ? help(sgemm_helper_halves_judge, &judge, sizeof judge, 1, call)
                           : status;
}

static gm_status encode(const split *x, unsigned box_height, const gm_call *call,
                        gm_tensor_map *map)
{
    const gm_tensor tensor = {
        .data = x->args.to,
        .itemsize = sizeof(uint16_t),
        .width = x->args.pitch,
        .height = x->args.from.lines,
        .pitch = x->args.pitch * (int64_t)sizeof(uint16_t),
        .box_width = FP16X3_BOX,
        .box_height = box_height,
        .swizzled = true,
    };
    return call->backend->tensor_map(&tensor, map);
}

/* Makes the rows of tiles, and those of each group, a multiple of a cluster's: its tiles are then
 * below one another. Those outside C are not stored. */
static void round_rows_up(sgemm_args *product, unsigned cluster)
{
    product->tiles_y = divide_up(product->tiles_y, cluster) * cluster;
    product->group = (product->group + cluster - 1) / cluster * cluster;
}

/* The product of the halves, if the verdict is 0. cluster: blocks that load lines of B together. */
static gm_status multiply(const split of[2], const uint32_t *verdict, unsigned cluster,
                          const gm_variant *variant, const gm_call *call, const gm_plan *plan)
{
    /* Those of tf32x3, in units of a stage that takes 1.65 times as long. */
    static const sgemm_pace pace = {
        .blocks = 1, .alone = 1, .around = 5, .adding = 2.5, .bytes = 5.8e6};
    const sgemm_args *asked = (const sgemm_args *)plan->args;
    const int64_t multiprocessors = call->device->multiprocessors;
    const int64_t most = multiprocessors / cluster * cluster;
    const int64_t stages = divide_up(asked->depth, FP16X3_DEPTH);
    sgemm_fp16x3_args args = {
        .engine = {.product = *asked, .turn = {verdict, 0}},
        .scales_a = of[0].args.scales,
        .scales_b = of[1].args.scales,
    };
    sgemm_engine_args *engine = &args.engine;
    void *memory = NULL;
    round_rows_up(&engine->product, cluster);
    const int64_t tiles = engine->product.tiles_x * engine->product.tiles_y;
    engine->stages = sgemm_best_shares(&pace, most, tiles, stages,
                                       4.0 * (double)asked->a.lines * (double)asked->b.lines)
                         .stages;
    const int64_t shares = divide_up(stages, engine->stages);
    gm_status status = encode(&of[0], FP16X3_HEIGHT, call, &engine->a);
    if (status == GM_OK) {
        status = encode(&of[1], FP16X3_WIDTH / cluster, call, &engine->b);
    }
    if (status == GM_OK && shares > 1) {
        status = sgemm_share_out(asked, shares, call, engine, &memory);
    }
    if (status == GM_OK) {
        gm_plan own = *plan; /* the call's is kept for the next launch */
        memcpy(own.args, &args, sizeof args);
        own.args_size = sizeof args;
        own.grid.x = (unsigned)least_of(tiles, most);
        own.grid.y = (unsigned)shares;
        status = call->backend->launch(variant, &own, call->stream);
    }
    if (status == GM_OK && shares > 1) {
        status = sgemm_sum_shares(asked, engine, shares, call);
    }
    sgemm_release(call, &memory, 1);
    return status;
}

static gm_status launch(unsigned cluster, const gm_variant *variant, const gm_call *call,
                        const gm_plan *plan)
{
    const sgemm_args *asked = (const sgemm_args *)plan->args;
    const bool suits = asked->depth >= LEAST_DEPTH && asked->depth <= MOST_DEPTH;
    const bool is_deep = asked->depth >= DEEP;
    const gm_variant *other = gm_find_variant(call->family, is_deep ? "tf32x3" : "warp_tile_tma");
    gm_plan instead;
    uint32_t *verdict = NULL;
    void *memory = NULL;
    gm_status status = gm_prepare(&other, call, &instead);
    if (status != GM_OK || !suits) {
        return status == GM_OK ? gm_launch(other, call, &instead) : status;
    }
    split of[2] = {describe(&asked->a, asked->depth, call),
                   describe(&asked->b, asked->depth, call)};
    status = place_all(of, call, &verdict, &memory);
    if (status == GM_OK) {
        status = split_and_judge(of, verdict, call);
    }
    if (status == GM_OK) {
        status = multiply(of, verdict, cluster, variant, call, plan);
    }
    if (status == GM_OK) {
        const sgemm_turn turn = {verdict, 1};
        status = sgemm_launch_in_turn(other, call, &turn, &instead);
    }
    sgemm_release(call, &memory, 1);
    return status;
}

gm_status sgemm_launch_fp16x3(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    return launch(1, variant, call, plan);
}

gm_status sgemm_launch_fp16x3_multicast(const gm_variant *variant, const gm_call *call,
                                        gm_plan *plan)
{
    return launch(FP16X3_CLUSTER, variant, call, plan);
}
