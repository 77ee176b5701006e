/*
 * The requests of a warp: the accesses that its lanes make by one instruction at one time.
 *
 * Lanes run one after another, so the accesses of a warp are collected until its lanes meet at a
 * barrier, a warp operation or their end, and are then sorted into requests.
 */
#ifndef GPUMEM_SIM_REQUESTS_H
#define GPUMEM_SIM_REQUESTS_H

#include "sim/shapes.h"
#include "sim/sites.h"
#include "sim/stream.h"

/* One memory instruction of one warp. */
typedef struct gm_request {
    gm_site *site;
    int lanes;
    bool uncertain; /* a GPU may form other requests of these accesses */
    bool gapless;   /* the first lane's address is the lowest, and all bytes up to `end` are wanted;
                       false also if that takes longer to find out */
    uint32_t widest;
    uintptr_t begin, end;     /* the lowest address, and the first one past all accesses */
    const uintptr_t *address; /* per lane, as is what follows */
    uint32_t bytes[GM_WARP];
    uint8_t lane[GM_WARP]; /* ascending */
    gm_shape *shape;       /* of a step; NULL: the lanes went different ways */
} gm_request;

/* The request of what the first lanes of a stream accessed in its n-th step. The caller sets
 * `lane`, and starts with widest 0. */
void gm_request_of_step(gm_request *request, const gm_warp_stream *stream, gm_sites *sites,
                        int64_t n, int lanes);

typedef gm_status (*gm_request_sink)(void *context, gm_request *request);

/* Sorts the accesses of an ended stream into requests, and hands each to the sink, up to the first
 * fault. */
gm_status gm_requests_form(const gm_warp_stream *stream, gm_sites *sites, gm_request_sink sink,
                           void *context);

#endif
