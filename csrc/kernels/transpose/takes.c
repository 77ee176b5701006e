/* transpose: what its rows need of a matrix, besides what fields of the ladder say. */
#include "transpose/choose.h"

int64_t transpose_pitch(const gm_array *in)
{
    return in->shape[0] > 1 ? in->strides[0] : in->shape[1] * in->itemsize;
}

bool transpose_is_whole(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    uintptr_t bits = (uintptr_t)in->data | (uintptr_t)call->out.data |
                     (uintptr_t)(in->shape[0] * in->itemsize) |
                     (uintptr_t)(in->shape[1] * in->itemsize) | (uintptr_t)in->strides[0];
    return bits % 16 == 0;
}

bool transpose_rows_follow(const gm_array *in)
{
    return transpose_pitch(in) >= in->shape[1] * in->itemsize;
}

static gm_status wrong_shape(const gm_variant *variant, const gm_array *in, const char *needs,
                             int64_t most, const char *what)
{
    return gm_fail(GM_ERROR_VALUE, "a has shape (%lld, %lld), variant %s needs %s %lld %s",
                   (long long)in->shape[0], (long long)in->shape[1], variant->name, needs,
                   (long long)most, what);
}

static gm_status wrong_pitch(const gm_variant *variant, const gm_array *in)
{
    return gm_fail(GM_ERROR_VALUE,
                   "the rows of a are %lld bytes apart, variant %s needs them one after the other",
                   (long long)transpose_pitch(in), variant->name);
}

gm_status transpose_takes_whole(const gm_variant *variant, const gm_call *call)
{
    const gm_array *in = &call->in[0];
    if (in->bytes == 0 || transpose_is_whole(call)) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "variant %s needs rows of whole 16-byte vectors on both sides, a has shape "
                   "(%lld, %lld) with elements of %lld bytes, %lld bytes from row to row",
                   variant->name, (long long)in->shape[0], (long long)in->shape[1],
                   (long long)in->itemsize, (long long)in->strides[0]);
}

gm_status transpose_takes_shifted(const gm_variant *variant, const gm_call *call)
{
    const gm_array *in = &call->in[0];
    return in->bytes == 0 || transpose_rows_follow(in) ? GM_OK : wrong_pitch(variant, in);
}

gm_status transpose_takes_tensor(const gm_variant *variant, const gm_call *call)
{
    const gm_array *in = &call->in[0];
    gm_status status = transpose_takes_whole(variant, call);
    if (status == GM_OK) {
        status = transpose_takes_shifted(variant, call);
    }
    if (status == GM_OK && (in->shape[0] > INT32_MAX || in->shape[1] > INT32_MAX)) {
        return wrong_shape(variant, in, "at most", INT32_MAX, "rows and columns");
    }
    return status;
}

gm_status transpose_takes_narrow(const gm_variant *variant, const gm_call *call)
{
    const gm_array *in = &call->in[0];
    return in->bytes == 0 || transpose_smaller(in->shape[0], in->shape[1]) <= NARROW_MOST
               ? GM_OK
               : wrong_shape(variant, in, "at most", NARROW_MOST, "rows or columns");
}

/* A block has short rows in shared memory with the gaps between them. */
static gm_status takes_short_rows(const gm_variant *variant, const gm_array *in)
{
    int64_t pitch = transpose_pitch(in);
    if (transpose_rows_follow(in) && pitch <= NARROW_ROW_BYTES) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "the rows of a are %lld bytes apart, variant %s needs them one after the other "
                   "and at most %d bytes apart",
                   (long long)pitch, variant->name, NARROW_ROW_BYTES);
}

gm_status transpose_takes_narrow_words(const gm_variant *variant, const gm_call *call)
{
    const gm_array *in = &call->in[0];
    int64_t rows = in->shape[0], cols = in->shape[1];
    if (in->bytes == 0) {
        return GM_OK;
    }
    if (transpose_smaller(rows, cols) > NARROW_WORDS_MOST) {
        return wrong_shape(variant, in, "at most", NARROW_WORDS_MOST, "rows or columns");
    }
    return cols <= rows ? takes_short_rows(variant, in) : GM_OK;
}

gm_status transpose_takes_narrow_vectors(const gm_variant *variant, const gm_call *call)
{
    const gm_array *in = &call->in[0];
    int64_t rows = in->shape[0], cols = in->shape[1];
    if (in->bytes == 0) {
        return GM_OK;
    }
    if (cols <= rows) {
        return takes_short_rows(variant, in);
    }
    if (rows > NARROW_VECTORS_MOST) {
        return wrong_shape(variant, in, "no more columns than rows, or at most",
                           NARROW_VECTORS_MOST, "rows");
    }
    return transpose_rows_follow(in) ? GM_OK : wrong_pitch(variant, in);
}
