/* scan: the family. */
#include "scan/scan.h"

#include "backend/backend.h"
#include "cluster_sums.h"
#include "zeros.h"

static gm_status launch_in_three(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_at_once(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status takes_ring(const gm_variant *variant, const gm_call *call);

enum { MANY_BLOCKS, ONE_CLUSTER }; /* how the grid is made: `grid` in the ladder */

#define GM_FAMILY scan
#define GM_LADDER "scan/ladder.def"
#include "family.h"

/* Bytes of an array up to which a cluster is faster than a grid, and a block for each tile faster
 * than blocks that stay. */
enum { CLUSTER_BYTES = 1 << 20, ALL_SUMS_BYTES = 4 << 20 };

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

/* What fits into one tile of look_back waits for nobody. */
static const gm_variant *scan_choose(const gm_call *call)
{
    const int64_t bytes = call->in[0].bytes;
    if (bytes <= SCAN_TILE_BYTES) {
        return gm_row(call, scan_row_look_back);
    }
    if (bytes <= CLUSTER_BYTES && call->device->cluster_blocks > 0) {
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
        .vectors = ((uintptr_t)in->data | (uintptr_t)call->out.data) % SCAN_VECTOR_BYTES == 0,
    };
    plan->args_size = sizeof(scan_args);
    plan->grid.x =
        (unsigned)(variant->blocks == 0
                       ? tiles
                       : smaller(tiles, (int64_t)variant->blocks * call->device->multiprocessors));
    if (variant->grid == ONE_CLUSTER) {
        plan_cluster(variant, call, plan);
    }
    return GM_OK;
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
    gm_status status = call->backend->allocate(args->tiles * call->in[0].itemsize, &args->bases);
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
    call->backend->release(args->bases);
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
    gm_status status = call->backend->allocate(bytes, &memory);
    if (status != GM_OK) {
        return status;
    }
    args->states = memory;
    args->tickets = (unsigned *)((char *)memory + states);
    status = zeros_launch(&helper_zeros, call, memory, bytes / (int64_t)sizeof(unsigned));
    if (status == GM_OK) {
        status = call->backend->launch(variant, plan, call->stream);
    }
    call->backend->release(memory);
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
