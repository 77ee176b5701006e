/* sgemm: how many blocks share a product by stream_k, and their launch. See stream_k.h. */
#include <string.h>

#include "backend/backend.h"
#include "sgemm/launches.h"
#include "sgemm/stream_k.h"
#include "sgemm/whole.h"
#include "zeros.h"

/* ---- the parts of blocks --------------------------------------------------------------------- */

/* Blocks for tiles that are fewer than there are places for blocks. A multiprocessor has two of
 * them, or one: with some of both, equal parts would not take equal time. */
static int64_t blocks_for_few(int64_t tiles, int64_t stages, int64_t multiprocessors)
{
    const int64_t places = STREAM_K_BLOCKS * multiprocessors;
    const int64_t most = least_of(tiles * STREAM_K_SHARERS, stages / STREAM_K_STAGES);
    return most >= places            ? places
           : most >= multiprocessors ? multiprocessors
           : most > tiles            ? most
                                     : tiles;
}

/* Returns the number of blocks; each of them has something to do. */
static int64_t divide(const sgemm_args *product, int64_t multiprocessors, sgemm_stream_k_args *args)
{
    const int64_t tiles = product->tiles_x * product->tiles_y, stages = args->engine.stages;
    const int64_t places = STREAM_K_BLOCKS * multiprocessors;
    int64_t blocks = places, whole = tiles;
    if (tiles > places && tiles % places != 0) {
        whole = (tiles / places - 1) * places; /* one round and a part of one are shared */
    } else if (tiles < places) {
        blocks = blocks_for_few(tiles, tiles * stages, multiprocessors);
        whole = blocks == tiles ? tiles : 0;
    }
    args->whole = (unsigned)whole;
    if (whole < tiles) {
        args->each = (tiles - whole) * stages / blocks;
        args->more = (tiles - whole) * stages % blocks;
    }
    return blocks;
}

double sgemm_stream_k_time(const sgemm_args *product, int64_t multiprocessors)
{
    /* A stage of a block alone on its multiprocessor; the start and the end of all; leaving sums
     * and adding those of one other block; the result of a tile that is not the last. */
    static const double ALONE = 1.09, AROUND = 2.5, LEFT = 1.84, ADDED = 0.54, BETWEEN = 1.54;
    sgemm_stream_k_args args = {
        .engine.stages = divide_up(product->depth, WARP_TILE_TMA_DEPTH),
    };
    const int64_t tiles = product->tiles_x * product->tiles_y;
    const int64_t blocks = divide(product, multiprocessors, &args);
    const double stages = (double)tiles * (double)args.engine.stages;
    const double sharers = (double)blocks / (double)tiles;
    const double sums = args.each > 0 ? LEFT + ADDED * (sharers > 1 ? sharers : 1) : 0;
    const int64_t rounds = tiles / (STREAM_K_BLOCKS * multiprocessors);
    return AROUND + sums + BETWEEN * (double)rounds +
           (blocks > multiprocessors ? stages / (double)multiprocessors
                                     : ALONE * stages / (double)blocks);
}

/* Memory for what blocks leave for each other: `there`, which is set to zero, and their sums. */
static gm_status make_room(sgemm_stream_k_args *args, int64_t blocks, const gm_call *call,
                           void **memory)
{
    const int64_t sums = blocks * STREAM_K_FLOATS * (int64_t)sizeof(float);
    const int64_t there = blocks * (int64_t)sizeof(unsigned long long);
    gm_status status = gm_scratch(call, sums + there, memory);
    if (status != GM_OK) {
        return status;
    }
    args->sums = *memory;
    args->there = (unsigned long long *)((char *)*memory + sums);
    return zeros_launch(sgemm_helper_zeros, call, args->there, there / (int64_t)sizeof(unsigned));
}

gm_status sgemm_launch_stream_k(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const sgemm_args *asked = (const sgemm_args *)plan->args;
    sgemm_stream_k_args args = {.engine.product = *asked};
    void *memory[3] = {NULL, NULL, NULL};
    args.engine.stages = divide_up(asked->depth, WARP_TILE_TMA_DEPTH);
    const int64_t blocks = divide(asked, call->device->multiprocessors, &args);
    gm_status status = sgemm_bring(&sgemm_warp_tile_tma_boxes, call, &args.engine, memory);
    if (status == GM_OK && args.each > 0) {
        status = make_room(&args, blocks, call, &memory[2]);
    }
    if (status == GM_OK) {
        gm_plan own = *plan; /* the call's is kept for the next launch */
        memcpy(own.args, &args, sizeof args);
        own.args_size = sizeof args;
        own.grid.x = (unsigned)blocks;
        status = call->backend->launch(
            sgemm_way(variant, sgemm_parts_stream_k, &args.engine.product), &own, call->stream);
    }
    sgemm_release(call, memory, 3);
    return status;
}
