/*
 * sample: out[i] = the image at (x[i], y[i]), bilinear between its four pixels around.
 *
 * Pixels have whole numbers for coordinates: x counts columns, y rows. Outside of the image is what
 * is nearest on its edge.
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
