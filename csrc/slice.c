/* a[offset::stride]: negative offsets count from the end; offsets beyond the ends are clamped. */
#include "slice.h"

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
