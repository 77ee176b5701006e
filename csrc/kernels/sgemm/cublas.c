/* sgemm / cublas: cuBLAS' product on the plain FP32 units, as the reference. */
#include "backend/cublas.h"
#include "sgemm/launches.h"
#include "sgemm/sgemm.h"

/* Elements from row to row as cuBLAS wants it told, also of a single row. */
static int64_t pitch(int64_t stride, int64_t rows, int64_t width)
{
    return rows > 1 ? stride : width > 1 ? width : 1;
}

/* A factor as cuBLAS sees it: its matrix in memory, and whether that is to be transposed. */
static gm_cublas_matrix describe(const sgemm_factor *x, int64_t depth, bool transposed)
{
    int64_t width = x->along_depth ? depth : x->lines;
    int64_t rows = x->along_depth ? x->lines : depth;
    int64_t stride = x->along_depth ? x->line_stride : x->depth_stride;
    return (gm_cublas_matrix){
        .data = x->data,
        .pitch = pitch(stride, rows, width),
        .transposed = transposed,
    };
}

gm_status sgemm_cublas_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const sgemm_args *args = (const sgemm_args *)plan->args;
    const gm_cublas_product product = {
        .a = describe(&args->a, args->depth, !args->a.along_depth),
        .b = describe(&args->b, args->depth, args->b.along_depth),
        .rows = args->a.lines,
        .columns = args->b.lines,
        .depth = args->depth,
        .alpha = args->alpha,
        .beta = args->beta,
        .c = args->c,
        .c_pitch = pitch(args->c_stride, args->a.lines, args->b.lines),
        .out = args->out,
        .out_pitch = pitch(args->out_stride, args->a.lines, args->b.lines),
    };
    (void)variant;
    return gm_cublas_sgemm(&product, call->stream);
}
