/*
 * What sgemm's tf32x3 is told: both factors as the tensor copy engine knows them, the depth running
 * on in memory in A, the lines in B; and the product as all variants are.
 */
#ifndef GPUMEM_SGEMM_TF32X3_H
#define GPUMEM_SGEMM_TF32X3_H

#include "sgemm/sgemm.h"
#include "tensor_map.h"

enum {
    TF32X3_TILE = 128, /* rows and columns of C per block */
    TF32X3_DEPTH = 32, /* steps of the sum per stage: 128 bytes of a row */
    TF32X3_STAGES = 4,
    TF32X3_BOX = 32,     /* columns of B in a box of the engine */
    TF32X3_THREADS = 384 /* a warp group that loads and splits, and two that multiply */
};

typedef struct sgemm_tf32x3_args {
    gm_tensor_map a, b;
    sgemm_args product;
} sgemm_tf32x3_args;

/* A factor, written out with rows that the engine takes: lines by depth, or depth by lines. */
typedef struct sgemm_pack_args {
    sgemm_factor from;
    int64_t depth;
    float *to;
    int64_t pitch;    /* floats from row to row */
    bool along_depth; /* rows are lines */
    int64_t tiles_x;
} sgemm_pack_args;

#endif
