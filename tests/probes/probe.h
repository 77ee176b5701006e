/* The arguments of every probe: an input, an output of its shape, and two integers. */
#ifndef PROBE_H
#define PROBE_H

#include <stdint.h>

typedef struct probe_args {
    const float *in;
    float *out;
    int64_t n;
    int64_t offset, stride;
} probe_args;

#ifdef __cplusplus
#include "device.h"

/* This thread's element; the grid covers n. */
GM_DEVICE int64_t probe_index(void)
{
    return gm_grid_index();
}
#endif

#endif
