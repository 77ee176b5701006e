/*
 * Lanes: streams, each with its own page-locked chunks, that take the pieces of a transfer in
 * turn. They are kept for the next transfer; two at the same time have different ones.
 */
#ifndef GPUMEM_LANES_H
#define GPUMEM_LANES_H

#include "backend/backend.h"

enum { GM_LANES = 3 }; /* one on its way in, one with a kernel, one on its way out */

typedef struct gm_lanes {
    const gm_backend *backend;
    int device;
    gm_stream stream[GM_LANES];
    struct gm_lanes *next;
} gm_lanes;

gm_status gm_lanes_take(const gm_backend *backend, gm_lanes **lanes);
void gm_lanes_give(gm_lanes *lanes);

#endif
