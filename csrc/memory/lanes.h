/*
 * Lanes: streams that take the pieces of a transfer in turn. They are kept for the next transfer;
 * two at the same time have different ones.
 *
 * What goes to the device goes by one stream, piece by piece: of several streams the copies would
 * share the bus, and the first piece arrive when the last does.
 */
#ifndef GPUMEM_LANES_H
#define GPUMEM_LANES_H

#include "backend/backend.h"

enum { GM_LANES = 3 }; /* one on its way in, one with a kernel, one on its way out */

typedef struct gm_lanes {
    const gm_backend *backend;
    int device;
    gm_stream stream[GM_LANES], in;
    gm_event arrived[GM_LANES]; /* what `in` brought; none where calls return when all is done */
    struct gm_lanes *next;
} gm_lanes;

gm_status gm_lanes_take(const gm_backend *backend, gm_lanes **lanes);
void gm_lanes_give(gm_lanes *lanes);
/* What comes on the lane's stream waits for what is on `in` by now. */
gm_status gm_lanes_arrive(gm_lanes *lanes, int lane);

#endif
