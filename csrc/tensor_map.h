/*
 * A matrix, or a stack of them, as Hopper's tensor copy engine is told of it: the engine moves
 * boxes of it between global and shared memory. Read by C (who makes it) and by kernels (who hand
 * it on).
 */
#ifndef GPUMEM_TENSOR_MAP_H
#define GPUMEM_TENSOR_MAP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gm_tensor {
    void *data;            /* a multiple of 16 */
    int itemsize;          /* 1, 2, 4 or 8 */
    int64_t width, height; /* elements */
    int64_t pitch;         /* bytes from row to row, a multiple of 16 */
    int64_t planes;        /* of a stack, for copies with three dimensions; 0: one matrix, two */
    int64_t plane_pitch;   /* bytes from plane to plane, a multiple of 16; of one, anything */
    unsigned box_width, box_height;
    bool swizzled; /* in shared memory the 16-byte pieces of each 128 bytes change places */
} gm_tensor;

/* Encoded by the backend; a kernel takes it as a part of its arguments. */
typedef struct gm_tensor_map {
#ifdef __cplusplus
    alignas(64)
#else
    _Alignas(64)
#endif
        unsigned char opaque[128];
} gm_tensor_map;

#endif
