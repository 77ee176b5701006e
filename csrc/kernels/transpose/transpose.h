/*
 * transpose: out[col][row] = in[row][col].
 *
 * The input's rows run on in memory, `pitch` bytes from one to the next; the output has no gaps.
 * `tiles_x` counts tiles across the columns of the input, `tiles_y` down its rows; what a tile
 * is, is the kernel's own affair. Bits are moved, not numbers.
 */
#ifndef GPUMEM_TRANSPOSE_H
#define GPUMEM_TRANSPOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor_map.h"

typedef struct transpose_args {
    const char *in;
    char *out;
    int64_t rows, cols; /* of the input */
    int64_t pitch;      /* bytes from a row of the input to the next, */
    int64_t out_pitch;  /* and of the output */
    int64_t tiles_x, tiles_y;
    int64_t strip;                      /* narrow: elements of a strip, see narrow.cu */
    uint32_t stream_bits, stream_width; /* see transpose_place_of */
    uint32_t z_width, z_height;
    int itemsize;
    unsigned halo; /* shifted:b8: rows that the tile before has as well */
    bool lines;    /* the L2 has room for whole lines of a column of tiles */
} transpose_args;

enum {
    TRANSPOSE_SECTOR = 32, /* bytes */
    LINEAR_BYTES = 32768,  /* of a tile of narrow_words; narrow's has half */
};

/* For the tensor copy engine: boxes of 32 words by a tile's height, of the input and of the
 * output, both swizzled. */
typedef struct transpose_tma_args {
    transpose_args walk;
    gm_tensor_map in, out;
} transpose_tma_args;

/* For narrow_vectors, whose diagram shows these. Of few columns a block has `strip` rows with all
 * of their columns, of few rows `strip` columns. */
typedef struct transpose_vectors_args {
    transpose_args walk;
    int tile_pitch;        /* bytes from a row to the next in shared memory */
    int window;            /* vectors of a row; 0: all rows are loaded as one run of memory */
    unsigned window_bits;  /* log2 of the threads that load a window */
    int share;             /* columns of a pair of lanes, one after the other */
    unsigned column_bytes; /* few rows: bytes of a column */
    uint64_t reciprocal;   /* few rows: 2^32 over that, rounded up */
    unsigned steps;        /* sectors of a share, */
    unsigned groups;       /* and shares that a pair of lanes has, at most */
} transpose_vectors_args;

enum {
    VECTORS_THREADS = 384, /* of a block, at most */
    VECTORS_SMALL = 36864, /* bytes of its tile */
    VECTORS_MIDDLE = 49152,
    VECTORS_LARGE = 73216,
};

#ifdef __cplusplus
#include "device.h"

typedef struct transpose_place {
    uint32_t x, y;
} transpose_place;

/*
 * The tile of a block; none if x >= tiles_x. Blocks start in the order of x, then y, then z of the
 * grid:
 *
 *     x  down a column of tiles, which is along the rows of the output, so that blocks that run at
 *        the same time write one run of memory; every other column is walked upwards
 *     y  columns of tiles
 *     z  bands of `z_height` tiles, into which long columns are cut: neighbouring columns share
 *        sectors, which should still be in the L2. Or sets of `z_width` columns, where there are
 *        more than y can count.
 *
 * Blocks that run at the same time read a short run of every row. Where rows are a large power of
 * two apart, these runs load some memory channels more than others. Then x alternates between
 * 2^stream_bits parts of the width, `stream_width` columns each, which even each other out.
 *
 * The grid alone says which tile: divisions were nearly half of what a thread did before its first
 * load.
 */
GM_DEVICE transpose_place transpose_place_of(const transpose_args &a)
{
    const uint32_t part = blockIdx.x & ((1u << a.stream_bits) - 1);
    const uint32_t down = blockIdx.x >> a.stream_bits;
    const uint32_t column = blockIdx.z * a.z_width + blockIdx.y;
    const uint32_t top = blockIdx.z * a.z_height;
    const uint32_t height = min(gridDim.x >> a.stream_bits, (uint32_t)a.tiles_y - top);
    transpose_place place;
    place.x = down < height ? part * a.stream_width + column : (uint32_t)a.tiles_x;
    place.y = top + (column % 2 == 0 ? down : height - 1 - down);
    return place;
}
#endif

#endif
