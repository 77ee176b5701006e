/*
 * sample: out[i] = the image at (x[i], y[i]), interpolated between the four pixels around it.
 *
 * Pixels have integer coordinates: x counts columns, y rows. Coordinates outside the image are
 * clamped to its edge.
 */
#ifndef GPUMEM_SAMPLE_H
#define GPUMEM_SAMPLE_H

#include <stdint.h>

#include "texture_object.h"

typedef struct sample_args {
    const char *image, *points;
    float *out;
    int64_t count; /* points */
    int64_t width, height;
    int64_t pitch; /* bytes from row to row of the image */
    gm_texture texture;
} sample_args;

#ifdef __cplusplus
#include "device.h"
#endif

#endif
