/* The sizes of tf32x3, which its launch needs too. */
#ifndef GPUMEM_SGEMM_TF32X3_H
#define GPUMEM_SGEMM_TF32X3_H

#include "sgemm/engine.h"

enum {
    TF32X3_TILE = 128, /* rows and columns of C per block */
    TF32X3_DEPTH = 32, /* steps of the sum per stage: 128 bytes of a row */
    TF32X3_STAGES = 4,
    TF32X3_BOX = 32,     /* columns of B in a box of the engine */
    TF32X3_THREADS = 384 /* a warp group that loads and splits, and two that multiply */
};

#endif
