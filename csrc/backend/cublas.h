/*
 * cuBLAS as a reference for kernels. A build without CUDA has these functions too; they fail with
 * GM_ERROR_UNAVAILABLE.
 */
#ifndef GPUMEM_CUBLAS_H
#define GPUMEM_CUBLAS_H

#include "gpumem.h"

/* Both matrices in C order: out (columns x rows) = transpose(in). pitch is in bytes. */
gm_status gm_cublas_transpose(int itemsize, int64_t rows, int64_t columns, const void *in,
                              int64_t pitch, void *out, gm_stream stream);

/* A row-major matrix of float for gm_cublas_sgemm; pitch in elements, at least its width. */
typedef struct gm_cublas_matrix {
    const float *data;
    int64_t pitch;
    bool transposed;
} gm_cublas_matrix;

typedef struct gm_cublas_product {
    gm_cublas_matrix a, b;
    int64_t rows, columns, depth; /* of op(a) op(b); with depth 0 the product is zero */
    float alpha, beta;
    const float *c; /* read if beta is not 0; may be out */
    int64_t c_pitch;
    float *out;
    int64_t out_pitch;
} gm_cublas_product;

/* out = alpha op(a) op(b) + beta c, on the FP32 units. out has at least one element. */
gm_status gm_cublas_sgemm(const gm_cublas_product *product, gm_stream stream);

#endif
