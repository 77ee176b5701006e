/*
 * A texture: a matrix of 32-bit floats that the texture unit reads, filtered between its elements.
 * Read by C and by the kernels.
 */
#ifndef GPUMEM_TEXTURE_OBJECT_H
#define GPUMEM_TEXTURE_OBJECT_H

#include <stdint.h>

enum {
    /* Smaller than the largest array of every device since compute capability 5.0. */
    GM_TEXTURE_WIDTH = 65536,
    GM_TEXTURE_HEIGHT = 65536,
};

typedef struct gm_texture {
    uint64_t object;   /* CUDA's */
    const char *data;  /* the matrix itself: what the simulator reads */
    int64_t pitch;     /* bytes from row to row */
    int width, height; /* elements */
} gm_texture;

#endif
