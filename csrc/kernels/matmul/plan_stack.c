/* matmul: the shapes of a call, and its stack with as few axes as will do. */
#include "matmul/plan_stack.h"

enum { A, B };
enum { SHAPE_ROOM = 256 };

static const char *const names[] = {"a", "b"};

/* Axes of an input in front of its matrix. */
static int stack_axes(const gm_array *array)
{
    return array->ndim > 2 ? array->ndim - 2 : 0;
}

void matmul_as_matrix(const gm_call *call, int input, gm_array *matrix)
{
    const gm_array *array = &call->in[input];
    const int last = array->ndim - 1;
    matrix->data = array->data;
    matrix->itemsize = array->itemsize;
    matrix->kind = array->kind;
    matrix->memory = array->memory;
    matrix->absent = false;
    matrix->ndim = 2;
    matrix->contiguous = false;
    if (array->ndim == 1) { /* a row of a, a column of b */
        const int along = input == A;
        matrix->shape[!along] = 1;
        matrix->strides[!along] = array->itemsize;
        matrix->shape[along] = array->shape[0];
        matrix->strides[along] = array->strides[0];
    } else {
        for (int axis = 0; axis < 2; axis++) {
            matrix->shape[axis] = array->shape[last - 1 + axis];
            matrix->strides[axis] = array->strides[last - 1 + axis];
        }
    }
    matrix->size = matrix->shape[0] * matrix->shape[1];
    matrix->bytes = matrix->size * matrix->itemsize;
}

/* ---- the result ------------------------------------------------------------------------------ */

static gm_status refuse_shapes(const gm_call *call, const char *what)
{
    char a[SHAPE_ROOM], b[SHAPE_ROOM];
    gm_print_shape(&call->in[A], a, sizeof a);
    gm_print_shape(&call->in[B], b, sizeof b);
    return gm_fail(GM_ERROR_VALUE, "b has shape %s, a has shape %s: %s", b, a, what);
}

/* Extent of an input along an axis of the common stack, counted from its end. */
static int64_t extent_of(const gm_array *array, int from_end)
{
    const int axes = stack_axes(array);
    return from_end < axes ? array->shape[axes - 1 - from_end] : 1;
}

static gm_status broadcast(gm_call *call, int axes)
{
    for (int i = 0; i < axes; i++) {
        const int64_t a = extent_of(&call->in[A], i), b = extent_of(&call->in[B], i);
        if (a != b && a != 1 && b != 1) {
            return refuse_shapes(call, "the axes before the last two do not broadcast");
        }
        call->out.shape[axes - 1 - i] = a == 1 ? b : a;
    }
    return GM_OK;
}

gm_status matmul_result(gm_call *call)
{
    gm_array *out = &call->out, matrices[2];
    for (int i = A; i <= B; i++) {
        if (call->in[i].ndim == 0) {
            return gm_fail(GM_ERROR_VALUE, "%s has no dimensions, expected at least 1", names[i]);
        }
        matmul_as_matrix(call, i, &matrices[i]);
    }
    if (matrices[A].shape[1] != matrices[B].shape[0]) {
        return refuse_shapes(call, call->in[B].ndim == 1 ? "b needs an element for each column of a"
                                                         : "b needs a row for each column of a");
    }
    const int axes_a = stack_axes(&call->in[A]), axes_b = stack_axes(&call->in[B]);
    out->ndim = axes_a > axes_b ? axes_a : axes_b;
    gm_status status = broadcast(call, out->ndim);
    if (status != GM_OK) {
        return status;
    }
    if (call->in[A].ndim > 1) {
        out->shape[out->ndim++] = matrices[A].shape[0];
    }
    if (call->in[B].ndim > 1) {
        out->shape[out->ndim++] = matrices[B].shape[1];
    }
    int64_t bytes = (int64_t)sizeof(float);
    for (int d = 0; d < out->ndim; d++) {
        if (!gm_multiply(bytes, out->shape[d], &bytes)) {
            return refuse_shapes(call, "the product is too large");
        }
    }
    matmul_args args;
    return matmul_describe(call, &args);
}

/* ---- the factors and the stack --------------------------------------------------------------- */

/* Merges an axis into the one within it where both factors run on. */
static gm_status add_axis(matmul_args *args, int64_t extent, int64_t step_a, int64_t step_b)
{
    const int last = args->axes - 1;
    if (extent == 1) {
        return GM_OK;
    }
    if (last >= 0 && step_a == args->step_a[last] * args->extent[last] &&
        step_b == args->step_b[last] * args->extent[last]) {
        args->extent[last] *= extent;
        return GM_OK;
    }
    if (args->axes == MATMUL_AXES) {
        return gm_fail(GM_ERROR_VALUE,
                       "a and b have more than %d axes before the last two that cannot be merged",
                       MATMUL_AXES);
    }
    args->extent[args->axes] = extent;
    args->step_a[args->axes] = step_a;
    args->step_b[args->axes] = step_b;
    args->axes++;
    return GM_OK;
}

static int64_t step_of(const gm_array *array, int from_end)
{
    const int axes = stack_axes(array);
    return extent_of(array, from_end) == 1
               ? 0
               : array->strides[axes - 1 - from_end] / (int64_t)sizeof(float);
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

/* line: the axis of the matrix that counts lines. */
static matmul_factor describe_factor(const gm_array *matrix, int line, const int64_t *steps,
                                     int axes)
{
    const int64_t *shape = matrix->shape, *strides = matrix->strides;
    const int64_t size = (int64_t)sizeof(float);
    const bool depth_runs = shape[!line] > 1 && strides[!line] == size;
    const bool lines_run = shape[line] > 1 && strides[line] == size;
    matmul_factor factor = {
        .data = (const float *)matrix->data,
        .lines = shape[line],
        .line_stride = shape[line] > 1 ? strides[line] / size : 0,
        .depth_stride = shape[!line] > 1 ? strides[!line] / size : 0,
    };
    factor.along_depth =
        depth_runs || (!lines_run && (shape[line] == 1 || magnitude(factor.depth_stride) <=
                                                              magnitude(factor.line_stride)));
    const int across = factor.along_depth ? line : !line;
    const bool rows = shape[across] == 1 || strides[across] % 16 == 0;
    factor.vectors = (depth_runs || lines_run) && rows && (uintptr_t)matrix->data % 16 == 0;
    for (int d = 0; d < axes; d++) {
        factor.vectors = factor.vectors && steps[d] % 4 == 0;
    }
    return factor;
}

gm_status matmul_describe(const gm_call *call, matmul_args *args)
{
    gm_array a, b;
    gm_status status = GM_OK;
    *args = (matmul_args){.products = 1};
    matmul_as_matrix(call, A, &a);
    matmul_as_matrix(call, B, &b);
    const int own = (call->in[A].ndim > 1) + (call->in[B].ndim > 1);
    for (int i = 0; status == GM_OK && i < call->out.ndim - own; i++) {
        const int64_t extent = call->out.shape[call->out.ndim - own - 1 - i];
        args->products *= extent;
        status = add_axis(args, extent, step_of(&call->in[A], i), step_of(&call->in[B], i));
    }
    args->a = describe_factor(&a, 0, args->step_a, args->axes);
    args->b = describe_factor(&b, 1, args->step_b, args->axes);
    args->depth = a.shape[1];
    args->share = args->depth > 0 ? args->depth : 1;
    args->out = (float *)call->out.data;
    args->out_vectors = (uintptr_t)args->out % 16 == 0 && args->b.lines % 4 == 0;
    return status;
}

/* Rows of a matrix, or the products of a stack along its first axis: a factor that is repeated
 * along that is needed as a whole. */
int matmul_split(const gm_call *call, int input)
{
    const gm_array *array = &call->in[input];
    const bool first_is_stack = stack_axes(&call->in[A]) + stack_axes(&call->in[B]) > 0;
    if (first_is_stack) {
        return array->ndim == call->out.ndim && array->ndim > 2 && array->shape[0] > 1 ? 0
                                                                                       : GM_UNCUT;
    }
    return input == A && array->ndim == 2 ? 0 : GM_UNCUT;
}
