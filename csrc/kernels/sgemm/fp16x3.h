/* The sizes and arguments of fp16x3 and fp16x3_multicast, which their launch needs too. */
#ifndef GPUMEM_SGEMM_FP16X3_H
#define GPUMEM_SGEMM_FP16X3_H

#include "sgemm/engine.h"
#include "sgemm/halves.h"

enum {
    FP16X3_HEIGHT = 128, /* rows and columns of C per block */
    FP16X3_WIDTH = 192,
    FP16X3_TOGETHER = 2, /* stages that the tensor cores add up */
    FP16X3_DEPTH = FP16X3_TOGETHER * HALVES_STEPS,
    FP16X3_BOX = 2 * HALVES_STEPS, /* halves of a line in a stage: 128 bytes */
    FP16X3_STAGES = 5,
    FP16X3_BYTES = FP16X3_STAGES * ((FP16X3_HEIGHT + FP16X3_WIDTH) * FP16X3_BOX * 2 + 2 * 8),
    FP16X3_THREADS = 384, /* a warp group that loads, and two that multiply */
    FP16X3_CLUSTER = 2,   /* blocks below one another, in fp16x3_multicast, which share B */
};

/* The maps are those of the halves, the product is of the factors. */
typedef struct sgemm_fp16x3_args {
    sgemm_engine_args engine;
    const int *scales_a, *scales_b; /* of each line, see halves.h */
} sgemm_fp16x3_args;

#endif
