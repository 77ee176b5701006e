/* sgemm: how many blocks share a product by stream_k, and their launch. See stream_k.h. */
#include <string.h>

#include "backend/backend.h"
#include "sgemm/launches.h"
#include "sgemm/stream_k.h"
#include "sgemm/whole.h"
#include "zeros.h"

/* ---- what tiles cost ---------------------------------------------------------------------------
 */

/* A quarter for what does not depend on how much of a tile is inside the result. */
static int cost_of(int64_t rows, int64_t columns)
{
    enum { FIXED = STREAM_K_FULL / 4, TILE = WARP_TILE_TMA_HEIGHT * WARP_TILE_TMA_WIDTH };
    const int64_t inside = divide_up(rows, 32) * 32 * divide_up(columns, 32) * 32;
    return FIXED + (int)divide_up((STREAM_K_FULL - FIXED) * inside, TILE);
}

static sgemm_stream_k_costs find_costs(const sgemm_args *product)
{
    const int64_t rows = product->a.lines - (product->tiles_y - 1) * WARP_TILE_TMA_HEIGHT;
    const int64_t columns = product->b.lines - (product->tiles_x - 1) * WARP_TILE_TMA_WIDTH;
    return (sgemm_stream_k_costs){
        .inner = STREAM_K_FULL,
        .right = cost_of(WARP_TILE_TMA_HEIGHT, columns),
        .bottom = cost_of(rows, WARP_TILE_TMA_WIDTH),
        .corner = cost_of(rows, columns),
    };
}

/* A stage of each of the tiles before `tile`, in the order of sgemm_find_tile. */
static int64_t cost_before(const sgemm_args *product, const sgemm_stream_k_costs *costs,
                           int64_t tile)
{
    const int64_t above = tile / (product->group * product->tiles_x) * product->group;
    const int64_t within = tile - above * product->tiles_x;
    const int64_t rows = least_of(product->group, product->tiles_y - above);
    const int64_t column = within / rows;
    const int64_t right = above + (column == product->tiles_x - 1 ? within % rows : 0);
    const int64_t bottom = above + rows == product->tiles_y ? column : 0;
    return tile * costs->inner + right * (costs->right - costs->inner) +
           bottom * (costs->bottom - costs->inner);
}

static int64_t cost_of_all(const sgemm_args *product, const sgemm_stream_k_costs *costs)
{
    return cost_before(product, costs, product->tiles_x * product->tiles_y - 1) + costs->corner;
}

double sgemm_tile_cost(const sgemm_args *product)
{
    const sgemm_stream_k_costs costs = find_costs(product);
    const double tiles = (double)product->tiles_x * (double)product->tiles_y;
    return (double)cost_of_all(product, &costs) / (tiles * STREAM_K_FULL);
}

/* ---- the parts of blocks --------------------------------------------------------------------- */

/* Blocks for tiles that are fewer than there are places for blocks. A multiprocessor has two of
 * them, or one: with some of both, equal parts would not take equal time. */
static int64_t blocks_for_few(int64_t tiles, int64_t cost, int64_t multiprocessors)
{
    const int64_t places = STREAM_K_BLOCKS * multiprocessors;
    const int64_t most =
        least_of(tiles * STREAM_K_SHARERS, cost / (STREAM_K_STAGES * STREAM_K_FULL));
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
    args->costs = find_costs(product);
    const int64_t all = cost_of_all(product, &args->costs);
    int64_t blocks = places, whole = tiles;
    if (tiles > places && tiles % places != 0) {
        whole = (tiles / places - 1) * places; /* one round and a part of one are shared */
    } else if (tiles < places) {
        blocks = blocks_for_few(tiles, all * stages, multiprocessors);
        whole = blocks == tiles ? tiles : 0;
    }
    args->whole = (unsigned)whole;
    if (whole < tiles) {
        args->before = cost_before(product, &args->costs, whole) * stages;
        args->each = (all * stages - args->before) / blocks;
        args->more = (all * stages - args->before) % blocks;
    }
    return blocks;
}

double sgemm_stream_k_time(const sgemm_args *product, int64_t multiprocessors)
{
    /* A block alone on its multiprocessor; the first stages and the result; sums of others. */
    static const double ALONE = 1.25, AROUND = 2, LEFT = 1, ADDED = 0.25;
    sgemm_stream_k_args args = {
        .engine.stages = divide_up(product->depth, WARP_TILE_TMA_DEPTH),
    };
    const int64_t tiles = product->tiles_x * product->tiles_y;
    const int64_t blocks = divide(product, multiprocessors, &args);
    const double stages =
        (double)tiles * sgemm_tile_cost(product) * (double)args.engine.stages; /* of whole tiles */
    const double sharers = (double)blocks / (double)tiles;
    return AROUND + (args.each > 0 ? LEFT + ADDED * (sharers > 1 ? sharers : 1) : 0) +
           (blocks > multiprocessors ? stages / (double)multiprocessors
                                     : ALONE * stages / (double)blocks);
}

/* Memory for what blocks leave for each other: `there`, which is set to zero, and their sums. */
static gm_status make_room(sgemm_stream_k_args *args, int64_t blocks, const gm_call *call,
                           void **memory)
{
    const int64_t sums = blocks * STREAM_K_FLOATS * (int64_t)sizeof(float);
    const int64_t there = blocks * (int64_t)sizeof(unsigned long long);
    gm_status status = call->backend->allocate(sums + there, memory);
    if (status != GM_OK) {
        return status;
    }
    args->sums = *memory;
    args->there = (unsigned long long *)((char *)*memory + sums);
    return zeros_launch(sgemm_helper_zeros, call, args->there, there / (int64_t)sizeof(unsigned));
}

gm_status sgemm_launch_stream_k(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    static const sgemm_boxes boxes = WARP_TILE_TMA_BOXES;
    const sgemm_args *asked = (const sgemm_args *)plan->args;
    sgemm_stream_k_args args = {.engine.product = *asked};
    void *memory[3] = {NULL, NULL, NULL};
    args.engine.stages = divide_up(asked->depth, WARP_TILE_TMA_DEPTH);
    const int64_t blocks = divide(asked, call->device->multiprocessors, &args);
    gm_status status = sgemm_bring(&boxes, call, &args.engine, memory);
    if (status == GM_OK && args.each > 0) {
        status = make_room(&args, blocks, call, &memory[2]);
    }
    if (status == GM_OK) {
        gm_plan own = *plan; /* the call's is kept for the next launch */
        memcpy(own.args, &args, sizeof args);
        own.args_size = sizeof args;
        own.grid.x = (unsigned)blocks;
        status = call->backend->launch(variant, &own, call->stream);
    }
    sgemm_release(call, memory, 3);
    return status;
}
