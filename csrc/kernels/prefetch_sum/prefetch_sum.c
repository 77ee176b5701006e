/* prefetch_sum: the family. A block per row; the ring of a block is dynamic shared memory. */
#include "prefetch_sum/prefetch_sum.h"

#include <limits.h>

#include "backend/backend.h"

/* Layout of the ring that holds the elements ahead: `grid` in the ladder. */
enum { RING_NONE, RING_PADDED, RING_INTERLEAVED, RING_BULK };

static gm_status takes_ring(const gm_variant *variant, const gm_call *call);
static gm_status takes_sums(const gm_variant *variant, const gm_call *call);

#define GM_FAMILY prefetch_sum
#define GM_LADDER "prefetch_sum/ladder.def"
#include "family.h"

enum { WORK, DISTANCE, PADDING, THREADS, SYNC };
enum { AUTO = -1 };           /* padding */
enum { STATIC_SHARED = 512 }; /* bytes of a kernel besides its ring, at most */

static gm_status prefetch_sum_result(gm_call *call)
{
    const gm_array *in = &call->in[0];
    int64_t threads = call->parameters[THREADS].integer;
    gm_status status = gm_expect_dimensions(call, 0, 2, ": a row per sum");
    if (status != GM_OK) {
        return status;
    }
    if (threads % GM_WARP != 0) {
        return gm_fail(GM_ERROR_VALUE, "threads is %lld, expected a multiple of %d",
                       (long long)threads, GM_WARP);
    }
    call->out.ndim = 1;
    call->out.shape[0] = in->shape[0];
    return GM_OK;
}

/* Doubles from thread to thread in shared memory. */
static int64_t pitch(const gm_call *call)
{
    int64_t distance = call->parameters[DISTANCE].integer;
    int64_t padding = call->parameters[PADDING].integer;
    int64_t power = 2;
    if (padding != AUTO) {
        return distance + padding;
    }
    while (power + 1 < distance) {
        power *= 2;
    }
    return power + 1;
}

/* Stages of a warp of bulk: one for each step of `distance`, but not more than all resident warps
 * of a multiprocessor can use. By Little's law 40 KiB in flight hide the latency of an H200's
 * memory. More than 64 KiB gained nothing there, and cost up to half as much again. */
static int64_t bulk_stages(const gm_call *call)
{
    enum { IN_FLIGHT = 64 << 10, STAGE = GM_WARP * PREFETCH_SUM_BULK_STEPS * sizeof(double) };
    const gm_device_properties *device = call->device;
    const int64_t threads = call->parameters[THREADS].integer;
    const int64_t distance = call->parameters[DISTANCE].integer;
    const int64_t most = device->threads_per_multiprocessor / threads;
    const int64_t blocks = (call->in[0].shape[0] - 1) / device->multiprocessors + 1;
    const int64_t warps = (blocks < most ? blocks : most) * threads / GM_WARP;
    const int64_t useful = IN_FLIGHT / STAGE / (warps > 0 ? warps : 1);
    const int64_t stages = useful > 2 ? useful : 2;
    return distance < stages ? distance : stages;
}

static int64_t ring_bytes(const gm_variant *variant, const gm_call *call)
{
    int64_t threads = call->parameters[THREADS].integer;
    int64_t distance = call->parameters[DISTANCE].integer;
    switch (variant->grid) {
    case RING_PADDED: return threads * pitch(call) * (int64_t)sizeof(double);
    case RING_INTERLEAVED: return threads * distance * (int64_t)sizeof(double);
    case RING_BULK: /* and an mbarrier per warp and stage */
        return bulk_stages(call) * (threads * PREFETCH_SUM_BULK_STEPS * (int64_t)sizeof(double) +
                                    threads / GM_WARP * (int64_t)sizeof(uint64_t));
    default: return 0;
    }
}

/* Elements are read byte by byte where need be; sums are stored whole. */
static gm_status takes_sums(const gm_variant *variant, const gm_call *call)
{
    const gm_array *out = &call->out;
    if (out->size == 0 || (uintptr_t)out->data % (uintptr_t)out->itemsize == 0) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE, "variant %s needs out aligned to its %lld bytes", variant->name,
                   (long long)out->itemsize);
}

static gm_status takes_ring(const gm_variant *variant, const gm_call *call)
{
    const int64_t bytes = ring_bytes(variant, call) + STATIC_SHARED;
    const int64_t distance = call->parameters[DISTANCE].integer;
    if (bytes <= call->device->shared_per_block) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "variant %s with distance %lld, padding %lld and threads %lld needs %lld bytes "
                   "of shared memory per block, the device has %lld",
                   variant->name, (long long)distance,
                   (long long)(variant->grid == RING_PADDED ? pitch(call) - distance : 0),
                   (long long)call->parameters[THREADS].integer, (long long)bytes,
                   (long long)call->device->shared_per_block);
}

/* ---- the choice, measured on an H200 with 4 to 32 warps per multiprocessor ------------------- */

/* Where bulk is faster than a rolling ring: up to a distance, up to as many warps, and up to as
 * many requests in flight, which are a distance for each warp. A step of bulk is four elements, so
 * that it reaches as far ahead at a fourth of the distance; the more work an element takes, the
 * less that is worth. */
typedef struct bulk_range {
    int distance, warps, in_flight;
} bulk_range;

enum { ANY = INT_MAX };
enum { WORKS = 4 }; /* the last row is for as much work or more */
static const bulk_range than_padded[WORKS] = {
    {11, ANY, 96}, {2, ANY, 64}, {1, ANY, 32}, {1, 8, ANY}};
static const bulk_range than_interleaved[WORKS] = {
    {11, ANY, 96}, {3, ANY, 64}, {3, ANY, 32}, {ANY, 8, ANY}};

static bool is_in(const bulk_range *range, int64_t distance, int64_t warps)
{
    return distance <= range->distance && warps <= range->warps &&
           distance * warps <= range->in_flight;
}

/* Few warps need many loads in flight each. With this many, asynchronous copies cost more
 * instructions than they save waits, but for short distances and much work. */
enum { MANY_WARPS = 24, SHORT = 4, MUCH_WORK = 2 };

static const gm_variant *prefetch_sum_choose(const gm_call *call)
{
    const gm_value *parameters = call->parameters;
    const int64_t work = parameters[WORK].integer, distance = parameters[DISTANCE].integer;
    const int64_t blocks = call->in[0].shape[0] / call->device->multiprocessors;
    const int64_t warps = blocks * (parameters[THREADS].integer / GM_WARP);
    const bool is_padded = parameters[PADDING].integer == AUTO;
    const bulk_range *ranges = is_padded ? than_padded : than_interleaved;
    const int rolling = is_padded ? prefetch_sum_row_smem_rolling_async
                                  : prefetch_sum_row_smem_rolling_async_interleaved;
    int first = rolling;
    if (is_in(&ranges[work < WORKS ? work : WORKS - 1], distance, warps)) {
        first = prefetch_sum_row_bulk;
    } else if (warps >= MANY_WARPS && (distance > SHORT || work < MUCH_WORK)) {
        first = prefetch_sum_row_scalar_batch;
    }
    return gm_first_that_fits(
        call, GM_ROWS(first, rolling, prefetch_sum_row_scalar_batch, prefetch_sum_row_any));
}

static gm_status prefetch_sum_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *in = &call->in[0];
    const gm_value *parameters = call->parameters;
    prefetch_sum_args *args = (prefetch_sum_args *)plan->args;
    int64_t threads = parameters[THREADS].integer;

    *args = (prefetch_sum_args){
        .in = in->data,
        .out = (double *)call->out.data,
        .rows = in->shape[0],
        .length = in->shape[1],
        .whole = in->shape[1] - in->shape[1] % threads,
        .row_stride = in->strides[0],
        .stride = in->strides[1],
        .work = (int)parameters[WORK].integer,
        .distance = (int)parameters[DISTANCE].integer,
        .pitch = (int)pitch(call),
        .sync = parameters[SYNC].integer != 0,
    };
    if (variant->grid == RING_BULK) {
        args->distance = (int)bulk_stages(call);
    }
    args->aligned = gm_width_dividing((uintptr_t)args->in | (uintptr_t)args->row_stride |
                                      (uintptr_t)args->stride) >= (int)sizeof(double);
    plan->args_size = sizeof *args;
    plan->block.x = (unsigned)threads;
    plan->shared_bytes = (size_t)ring_bytes(variant, call);
    if (args->rows > 0) {
        plan->grid.x = (unsigned)(args->rows < call->device->max_grid_x ? args->rows
                                                                        : call->device->max_grid_x);
    }
    return GM_OK;
}

static int prefetch_sum_split(const gm_call *call, int input)
{
    (void)call, (void)input;
    return 0;
}

static const gm_operand inputs[] = {
    {.name = "a", .kinds = "f", .itemsizes = 1 << 8, .dtypes = "float64"},
};
static const gm_parameter parameters[] = {
    [WORK] = {.name = "work", .least = 0, .most = 10000},
    [DISTANCE] = {.name = "distance", .least = 1, .most = PREFETCH_SUM_FARTHEST},
    [PADDING] = {.name = "padding", .least = AUTO, .most = 64},
    [THREADS] = {.name = "threads", .least = GM_WARP, .most = PREFETCH_SUM_THREADS},
    [SYNC] = {.name = "sync", .least = 0, .most = 1},
};

const gm_family gm_family_prefetch_sum = {
    .name = "prefetch_sum",
    .doc = "sums of f over rows: the loads of a loop on their way ahead of their time",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 1,
    .parameters = parameters,
    .parameter_count = 5,
    .result = prefetch_sum_result,
    .choose = prefetch_sum_choose,
    .split = prefetch_sum_split,
    .plan = prefetch_sum_plan,
};
