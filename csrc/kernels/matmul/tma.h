/*
 * The arguments of tma: a stack of products as sgemm's kernel takes one, whose factors are
 * described by three-dimensional tensor maps. The third dimension counts the matrices of a factor,
 * so that the engine writes zeros beyond each of them, and not numbers of the next.
 */
#ifndef GPUMEM_MATMUL_TMA_H
#define GPUMEM_MATMUL_TMA_H

#include "sgemm/warp_tile_tma.h"

typedef struct matmul_tma_args {
    sgemm_engine_args each;      /* `product` is the first of the stack */
    bool repeated_a, repeated_b; /* all products have the same factor */
} matmul_tma_args;

#endif
