/* a[offset::stride]: negative offsets count from the end; offsets beyond the ends are clamped. What
 * strided_read and strided_write share beyond that: their parameters, and blocks of any width. */
#include "slice.h"

enum { MOST_THREADS = 1024 };

const gm_parameter gm_slice_parameters[GM_SLICE_PARAMETERS] = {
    [GM_SLICE_OFFSET] = {.name = "offset", .least = INT64_MIN, .most = INT64_MAX},
    [GM_SLICE_STRIDE] = {.name = "stride", .least = INT64_MIN, .most = INT64_MAX},
    [GM_SLICE_THREADS] = {.name = "threads", .least = 0, .most = MOST_THREADS},
};

gm_status gm_slice_of(int64_t length, int64_t offset, int64_t stride, gm_slice *slice)
{
    if (stride == 0) {
        return gm_fail(GM_ERROR_VALUE, "stride is 0, expected any other integer");
    }
    if (stride == INT64_MIN) {
        stride = -INT64_MAX; /* equivalent for every array, and can be negated */
    }
    if (offset < 0) {
        offset += length; /* of opposite signs: no overflow */
    }
    int64_t before = stride > 0 ? 0 : -1, after = stride > 0 ? length : length - 1;
    offset = offset < before ? before : offset > after ? after : offset;
    int64_t reach = stride > 0 ? length - offset : offset + 1;
    int64_t step = stride > 0 ? stride : -stride;
    slice->start = offset;
    slice->step = stride;
    slice->count = reach > 0 ? (reach - 1) / step + 1 : 0;
    if (slice->count <= 1) {
        slice->step = 1; /* unused: keeps products small */
    }
    return GM_OK;
}

bool gm_slice_is_copy(const gm_slice *slice, const gm_array *array)
{
    return slice->step == 1 && array->contiguous;
}

int64_t gm_slice_stride(const gm_slice *slice, const gm_array *array)
{
    int64_t step = slice->step < 0 ? -slice->step : slice->step;
    int64_t bytes;
    return gm_multiply(step, array->itemsize, &bytes) ? bytes : INT64_MAX;
}

int64_t gm_slice_threads(const gm_call *call)
{
    return call->parameters[GM_SLICE_THREADS].integer;
}

gm_status gm_slice_check_threads(const gm_call *call)
{
    const int64_t threads = gm_slice_threads(call);
    return threads % GM_WARP == 0
               ? GM_OK
               : gm_fail(GM_ERROR_VALUE, "threads is %lld, expected a multiple of %d",
                         (long long)threads, GM_WARP);
}

gm_status gm_slice_takes_no_threads(const gm_variant *variant, const gm_call *call)
{
    const int64_t threads = gm_slice_threads(call);
    return threads == 0
               ? GM_OK
               : gm_fail(GM_ERROR_VALUE,
                         "threads is %lld, but variant %s has a block of its own; threads can be "
                         "set for those with a kernel",
                         (long long)threads, variant->name);
}

void gm_slice_plan_blocks(const gm_variant *variant, const gm_call *call, int64_t units,
                          gm_plan *plan)
{
    const int64_t threads = gm_slice_threads(call);
    if (threads == 0) {
        plan->grid.x = gm_grid_blocks(variant, call, units, 0);
        return;
    }
    gm_variant other = *variant;
    other.block.x = (unsigned)threads;
    plan->block.x = (unsigned)threads;
    plan->grid.x = gm_grid_blocks(&other, call, units, 0);
}
