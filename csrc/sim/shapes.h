/*
 * What a request looks like apart from where it begins.
 *
 * The requests of one step mostly look alike, from one warp to the next and from one block to the
 * next. What is found out about one is kept for those that repeat its shape.
 */
#ifndef GPUMEM_SIM_SHAPES_H
#define GPUMEM_SIM_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/stream.h"

enum {
    GM_COUNTED = 12, /* counters of a site, at most, to which a request adds by its shape alone */
    GM_PERIOD = 128, /* bytes: what is counted is the same if all addresses are shifted by this */
};

typedef struct gm_shape {
    int lanes; /* 0: there is no shape yet */
    uint32_t bytes, site;
    uint32_t mask; /* of the lanes */
    bool gapless;  /* see gm_request */
    bool apart;    /* no two lanes use one word, if `words` is not 0 */
    bool counted;  /* `counts` holds for requests that begin at `phase` */
    uint32_t phase;
    int64_t counts[GM_COUNTED];
    uint64_t words; /* if these are whole words among 64: which of them, from the lowest on; or 0 */
    uintptr_t low, length;     /* from the first lane's address to the lowest; of the whole range */
    uintptr_t offset[GM_WARP]; /* per lane, from the first lane's address */
} gm_shape;

/* The shape of what the first lanes of a stream accessed in its n-th step. */
gm_shape *gm_shape_of(const gm_warp_stream *stream, int64_t n, int lanes);

#endif
