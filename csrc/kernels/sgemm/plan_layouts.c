/* The layouts of matrices that sgemm's kernels take. */
#include "sgemm/plan_layouts.h"

static bool has_columns(const gm_array *matrix)
{
    return matrix->shape[0] <= 1 || matrix->strides[0] == matrix->itemsize;
}

bool sgemm_suits_rows(const gm_array *matrix)
{
    return gm_elements_aligned(matrix) && gm_rows_contiguous(matrix);
}

bool sgemm_suits_factor(const gm_array *matrix)
{
    return gm_elements_aligned(matrix) && (gm_rows_contiguous(matrix) || has_columns(matrix));
}

static void exchange(int64_t *pair)
{
    const int64_t first = pair[0];
    pair[0] = pair[1];
    pair[1] = first;
}

bool sgemm_as_rows(gm_array *matrix, gm_value *transposed)
{
    if (gm_rows_contiguous(matrix)) {
        return true;
    }
    if (!has_columns(matrix)) {
        return false;
    }
    exchange(matrix->shape);
    exchange(matrix->strides);
    matrix->contiguous =
        matrix->shape[0] <= 1 || matrix->strides[0] == matrix->shape[1] * matrix->itemsize;
    transposed->integer = !transposed->integer;
    return true;
}

int64_t sgemm_stride_along(const gm_array *matrix, int axis)
{
    return matrix->shape[axis] > 1 ? matrix->strides[axis] / (int64_t)sizeof(float) : axis;
}

bool sgemm_has_vectors(const gm_array *matrix)
{
    bool rows = matrix->shape[0] <= 1 || matrix->strides[0] % 16 == 0;
    return rows && (uintptr_t)matrix->data % 16 == 0;
}
