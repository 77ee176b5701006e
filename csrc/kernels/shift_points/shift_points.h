/*
 * shift_points: every point of the plane moves by (dx, dy).
 *
 * As an array of structures, x and y of a point are neighbours; as a structure of arrays, all x
 * come first and then all y.
 */
#ifndef GPUMEM_SHIFT_POINTS_H
#define GPUMEM_SHIFT_POINTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct shift_points_args {
    const char *in;
    char *out;
    int64_t count; /* points */
    double dx, dy;
    int itemsize; /* 4 for float, 8 for double */
    bool soa;
} shift_points_args;

#ifdef __cplusplus
#include "device.h"
#endif

#endif
