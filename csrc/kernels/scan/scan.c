/* scan: the family. */
#include "scan/scan.h"

#include <string.h>

#include "backend/backend.h"
#include "cluster_sums.h"
#include "zeros.h"

static gm_status launch_in_three(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_at_once(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status takes_ring(const gm_variant *variant, const gm_call *call);
static int pick_pipelined(const gm_call *call);

enum { MANY_BLOCKS, ONE_CLUSTER }; /* how the grid is made: `grid` in the ladder */

#define GM_FAMILY scan
#define GM_LADDER "scan/ladder.def"
#include "family.h"

/* Bytes of an array up to which a block for each tile is faster than blocks that stay, and for
 * these small tiles faster than large ones. */
enum { ALL_SUMS_BYTES = 3 << 20, SMALL_TILES_BYTES = 20 << 20 };

static gm_status scan_result(gm_call *call)
{
    call->out.ndim = 1;
    call->out.shape[0] = call->in[0].size;
    return GM_OK;
}

/* Not every device of its compute capability or later has as much shared memory as the first. */
static gm_status takes_ring(const gm_variant *variant, const gm_call *call)
{
    enum { BESIDE = 4096 /* bytes that a block has beside the tiles, at most */ };
    const int64_t bytes = variant->shared_bytes + BESIDE;
    return bytes <= call->device->shared_per_block
               ? GM_OK
               : gm_fail(GM_ERROR_VALUE,
                         "variant %s needs %lld bytes of shared memory per block, this device has "
                         "%lld",
                         variant->name, (long long)bytes,
                         (long long)call->device->shared_per_block);
}

static int pick_pipelined(const gm_call *call)
{
    return call->in[0].bytes <= SMALL_TILES_BYTES ? scan_row_pipelined_k32 : scan_row_pipelined_k64;
}

static bool is_aligned(const void *data)
{
    return (uintptr_t)data % SCAN_VECTOR_BYTES == 0;
}

/* Bytes of an array up to which a cluster is faster than a grid: it has few threads to load
 * elements one by one, or to shuffle numbers of 64 bits. */
static int64_t most_for_cluster(const gm_call *call)
{
    if (!is_aligned(call->in[0].data) || !is_aligned(call->out.data)) {
        return 512 << 10;
    }
    return call->in[0].itemsize == 8 ? 896 << 10 : 1 << 20;
}

/* What fits into one tile of look_back waits for nobody. */
static const gm_variant *scan_choose(const gm_call *call)
{
    const int64_t bytes = call->in[0].bytes;
    if (bytes <= SCAN_TILE_BYTES) {
        return gm_row(call, scan_row_look_back);
    }
    if (bytes <= most_for_cluster(call) && call->device->cluster_blocks > 0) {
        return gm_first_that_fits(call, GM_ROWS(scan_row_cluster, scan_row_all_sums));
    }
    if (bytes <= ALL_SUMS_BYTES) {
        return gm_row(call, scan_row_all_sums);
    }
    return gm_first_that_fits(call, GM_ROWS(scan_row_pipelined, scan_row_look_back));
}

/* Elements of a tile. Where threads load vectors, `elements` of the ladder are words of 32 bits. */
static int tile_of(const gm_variant *variant, const gm_array *in)
{
    const int count = (int)variant->block.x * variant->elements;
    return variant->elements > 2 ? count * 4 / (int)in->itemsize : count;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Each warp has tiles of its own. */
static void plan_cluster(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const int64_t bytes = call->in[0].bytes;
    ((scan_args *)plan->args)->tiles = bytes / SCAN_WARP_BYTES + (bytes % SCAN_WARP_BYTES != 0);
    cluster_plan(variant, call, SCAN_WARP_BYTES, plan);
    plan->grid.x = bytes > 0 ? plan->grid.x : 0;
}

/* An array as rows for the tensor copy engine. */
static gm_status map_rows(const gm_call *call, const void *data, int64_t rows, gm_tensor_map *map)
{
    enum { WORDS = SCAN_ROW_BYTES / 4 };
    const gm_tensor tensor = {
        .data = (void *)data,
        .itemsize = 4,
        .width = WORDS,
        .height = rows,
        .pitch = SCAN_ROW_BYTES,
        .box_width = WORDS,
        .box_height = SCAN_RING_BOX,
        .swizzled = true,
    };
    return call->backend->tensor_map(&tensor, map);
}

/* Tiles begin where the result has its first line, if the input has an aligned vector there; else
 * where the input has its first line. */
static gm_status plan_ring(const gm_call *call, gm_plan *plan)
{
    const gm_array *in = &call->in[0];
    const uintptr_t from = (uintptr_t)in->data, to = (uintptr_t)call->out.data;
    const bool alike = (from ^ to) % SCAN_VECTOR_BYTES == 0;
    const int head = (int)((0 - (alike ? to : from)) % SCAN_LINE_BYTES);
    const int64_t rows = (in->bytes - head) / SCAN_ROW_BYTES;
    scan_ring_args args = {.scan = *(scan_args *)plan->args};
    gm_status status = GM_OK;
    if (in->bytes - head >= SCAN_ROW_BYTES && rows <= INT32_MAX) {
        args.scan.in = (const char *)in->data + head;
        args.scan.out = (char *)call->out.data + head;
        args.head = head / (int)in->itemsize;
        args.scan.count -= args.head;
        args.rows_in = rows;
        args.rows_out = is_aligned(args.scan.out) ? rows : 0;
        status = map_rows(call, args.scan.in, rows, &args.in);
    }
    if (status == GM_OK && args.rows_out > 0) {
        status = map_rows(call, args.scan.out, rows, &args.out);
    }
    args.scan.tiles = args.scan.count / args.scan.tile + (args.scan.count % args.scan.tile != 0);
    memcpy(plan->args, &args, sizeof args);
    plan->args_size = sizeof args;
    return status;
}

static gm_status scan_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *in = &call->in[0];
    const bool narrow = in->itemsize == 4, real = in->kind == 'f';
    const int tile = tile_of(variant, in);
    const int64_t tiles = in->size / tile + (in->size % tile != 0);
    const int64_t most = call->device->max_grid_x * tile;
    if (in->size > most) {
        return gm_fail(GM_ERROR_VALUE, "variant %s takes at most %lld elements, a has %lld",
                       variant->name, (long long)most, (long long)in->size);
    }
    *(scan_args *)plan->args = (scan_args){
        .in = in->data,
        .out = call->out.data,
        .count = in->size,
        .tiles = tiles,
        .tile = tile,
        .type = narrow ? real ? SCAN_FLOAT32 : SCAN_INT32
                : real ? SCAN_FLOAT64
                       : SCAN_INT64,
        .vectors = is_aligned(in->data) && is_aligned(call->out.data),
    };
    plan->args_size = sizeof(scan_args);
    plan->grid.x =
        (unsigned)(variant->blocks == 0
                       ? tiles
                       : smaller(tiles, (int64_t)variant->blocks * call->device->multiprocessors));
    if (variant->grid == ONE_CLUSTER) {
        plan_cluster(variant, call, plan);
    }
    return variant->blocks > 0 ? plan_ring(call, plan) : GM_OK;
}

static gm_status run_helper(const gm_variant *helper, const gm_call *call, const scan_args *args,
                            unsigned blocks)
{
    gm_plan plan = {.grid = {blocks, 1, 1}, .block = helper->block, .trace = call->trace};
    *(scan_args *)plan.args = *args;
    plan.args_size = sizeof *args;
    return call->backend->launch(helper, &plan, call->stream);
}

static gm_status launch_in_three(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    scan_args *args = (scan_args *)plan->args;
    gm_status status = gm_scratch(call, args->tiles * call->in[0].itemsize, &args->bases);
    if (status != GM_OK) {
        return status;
    }
    status = run_helper(&helper_tile_sums, call, args, plan->grid.x);
    if (status == GM_OK) {
        status = run_helper(&helper_scan_sums, call, args, 1);
    }
    if (status == GM_OK) {
        status = call->backend->launch(variant, plan, call->stream);
    }
    gm_scratch_release(call, args->bases);
    return status;
}

static gm_status launch_at_once(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    scan_args *args = (scan_args *)plan->args;
    void *memory = NULL;
    if (args->tiles == 1 && variant->blocks == 0) { /* it asks nobody */
        return call->backend->launch(variant, plan, call->stream);
    }
    /* A word of 64 bits for each 32 of a tile's value; the counter follows them. */
    const int64_t states = args->tiles * call->in[0].itemsize / 4 * (int64_t)sizeof(uint64_t);
    const int64_t bytes = states + (int64_t)sizeof(unsigned);
    gm_status status = gm_scratch(call, bytes, &memory);
    if (status != GM_OK) {
        return status;
    }
    args->states = memory;
    args->tickets = (unsigned *)((char *)memory + states);
    status = zeros_launch(&helper_zeros, call, memory, bytes / (int64_t)sizeof(unsigned));
    if (status == GM_OK) {
        status = call->backend->launch(variant, plan, call->stream);
    }
    gm_scratch_release(call, memory);
    return status;
}

static const gm_operand inputs[] = {
    {.name = "a",
     .kinds = "iuf",
     .itemsizes = 1 << 4 | 1 << 8,
     .dtypes = "int32, int64, uint32, uint64, float32, float64",
     .suits = gm_is_packed},
};

const gm_family gm_family_scan = {
    .name = "scan",
    .doc = "the running sum of all elements",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 1,
    .result = scan_result,
    .choose = scan_choose,
    .plan = scan_plan,
};
