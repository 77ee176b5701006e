/*
 * permute / matrix: an order of axes that comes down to one transpose.
 *
 * What is left after folding are two axes that change places: rows and columns of elements, or of
 * runs of up to 16 bytes. The family transpose has kernels for such matrices of every shape.
 */
#include "permute/launches.h"
#include "permute/plan_channels.h"
#include "transpose/launches.h"

/* Only what a matrix has is written. */
static void set_matrix(gm_array *matrix, const gm_array *like, const char *data, int unit,
                       int64_t rows, int64_t cols, int64_t pitch)
{
    matrix->data = (char *)data;
    matrix->itemsize = unit;
    matrix->size = rows * cols;
    matrix->bytes = rows * cols * unit;
    matrix->ndim = 2;
    matrix->contiguous = pitch == cols * unit;
    matrix->absent = false;
    matrix->kind = 'V';
    matrix->memory = like->memory;
    matrix->shape[0] = rows;
    matrix->shape[1] = cols;
    matrix->strides[0] = pitch;
    matrix->strides[1] = unit;
}

/* The transpose that a call is, if it is one. */
static bool as_transpose(const gm_call *call, gm_call *transpose)
{
    permute_layout layout;
    permute_fold(call, PERMUTE_WIDEST, &layout);
    const int64_t rows = layout.extent[0], cols = layout.extent[1], unit = layout.unit;
    if (layout.ndim != 2 || layout.from[1] != unit || layout.from[0] < cols * unit) {
        return false;
    }
    gm_begin_like(call, "transpose", transpose);
    set_matrix(&transpose->in[0], &call->in[0], layout.in, (int)unit, rows, cols, layout.from[0]);
    set_matrix(&transpose->out, &call->out, layout.out, (int)unit, cols, rows, rows * unit);
    return true;
}

/* Transpose leaves to permute what it has no kernel for, which would come back here; but for
 * channels, which have rows of their own. */
static bool comes_back(const gm_call *call, const gm_call *transpose)
{
    permute_layout layout;
    permute_fold(call, PERMUTE_WIDEST, &layout);
    return transpose->family->choose(transpose)->launch == transpose_strided_launch &&
           !permute_has_channels(&layout, call);
}

gm_status permute_takes_matrix(const gm_variant *variant, const gm_call *call)
{
    gm_call transpose;
    if (call->in[0].bytes == 0 ||
        (as_transpose(call, &transpose) && !comes_back(call, &transpose))) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "variant %s takes what comes down to a matrix whose rows and columns change "
                   "places, which these axes of a do not",
                   variant->name);
}

gm_status permute_matrix_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_variant *chosen = NULL;
    gm_call transpose;
    (void)variant;
    (void)as_transpose(call, &transpose); /* it is one: see permute_takes_matrix */
    gm_status status = gm_prepare(&chosen, &transpose, plan);
    return status == GM_OK ? gm_launch(chosen, &transpose, plan) : status;
}
