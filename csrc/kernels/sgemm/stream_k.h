/*
 * How stream_k divides a product, and what its blocks leave for each other.
 *
 * All stages of the tiles that are shared, one tile after the other, are cut into as many equal
 * parts as there are blocks. Here three blocks share four tiles of three stages:
 *
 *     tile       0         1         2         3
 *     stage    | 0  1  2 | 0  1  2 | 0  1  2 | 0  1  2 |
 *     block    | 0  0  0 | 0  1  1 | 1  1  2 | 2  2  2 |
 *
 * The block that has the last stage of a tile writes its result. The others leave their sums for
 * it, and do that first of all. So what block 1 needs for tile 1 is there when it comes to it, and
 * a block waits only for blocks with lower numbers, which run already:
 *
 *     block 0    1: stage 0, leave     0: all
 *     block 1    2: stages 0, 1, leave           1: stages 1, 2, add
 *     block 2                          3: all    2: stage 2, add
 *
 * Where there are more tiles than blocks most of them are not shared: they come between, a round of
 * blocks at a time, so that blocks that run at the same time have tiles that are neighbours.
 */
#ifndef GPUMEM_SGEMM_STREAM_K_H
#define GPUMEM_SGEMM_STREAM_K_H

#include "sgemm/engine.h"
#include "sgemm/warp_tile_tma.h"

enum {
    STREAM_K_BLOCKS = 2,                          /* on a multiprocessor */
    STREAM_K_SHARERS = 8,                         /* of a tile, at most about so many */
    STREAM_K_STAGES = 4,                          /* of a block, at least */
    STREAM_K_BYTES = WARP_TILE_TMA_BYTES + 16384, /* the ring, and room to write a tile from */
    STREAM_K_FLOATS = WARP_TILE_TMA_HEIGHT * WARP_TILE_TMA_WIDTH, /* that a block leaves */
};

typedef struct sgemm_stream_k_args {
    sgemm_engine_args engine;  /* `stages` are all of a tile; `partial` is 0 */
    unsigned whole;            /* tiles that are not shared: the first ones */
    int64_t each, more;        /* shared stages of a block; the first `more` have one more */
    float *sums;               /* STREAM_K_FLOATS of each block; NULL if no tile is shared */
    unsigned long long *there; /* of each block: 1 when it has left its sums */
} sgemm_stream_k_args;

#endif
