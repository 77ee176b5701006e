/*
 * permute: out = transpose(a, axes), contiguous; any strides, any rank.
 *
 * Before a kernel runs, the call is folded (plan_layout.c): axes that run on together on both sides
 * become one, and elements become units of 1 to 16 bytes that are aligned on both sides. What is
 * left is a list of axes, each with its distance between neighbours in the input (`from`, any sign)
 * and in the result (`to`). Bits are moved, not numbers.
 */
#ifndef GPUMEM_PERMUTE_H
#define GPUMEM_PERMUTE_H

#include <stdbool.h>
#include <stdint.h>

/* A number below 2^31 is divided by `by` with a multiplication and a shift. */
typedef struct permute_divisor {
    uint32_t by, multiplier, shift;
} permute_divisor;

/* Each folded axis has at least two units: memory has no room for more than 32 of them, unless
 * units share their addresses. */
enum { PERMUTE_MAX_DIMS = 32, PERMUTE_RUNS_DIMS = 16, PERMUTE_TILES_DIMS = 14 };

/* elementwise: axes from the outermost of the result on. */
typedef struct permute_elementwise_args {
    const char *in;
    char *out;
    int64_t units;
    int unit, ndim; /* bytes */
    int64_t extent[PERMUTE_MAX_DIMS];
    int64_t from[PERMUTE_MAX_DIMS];
} permute_elementwise_args;

/* runs: the same. */
typedef struct permute_runs_args {
    const char *in;
    char *out;
    int64_t units;
    int unit, ndim;
    permute_divisor extent[PERMUTE_RUNS_DIMS]; /* where `units` is below 2^31 */
    int64_t long_extent[PERMUTE_RUNS_DIMS];
    int64_t from[PERMUTE_RUNS_DIMS];
} permute_runs_args;

/* tiles: a matrix for each index of the outer axes. Rows run on in the result, columns are what
 * is closest in the input. */
typedef struct permute_tiles_args {
    const char *in;
    char *out;
    int unit, ndim; /* of the outer axes */
    int64_t rows, cols;
    int64_t from_row,
        from_col;   /* from a row to the next, from a column to the next, in the input */
    int64_t to_col; /* from a column to the next in the result */
    permute_divisor tiles_x, tiles_y;
    permute_divisor extent[PERMUTE_TILES_DIMS]; /* the outer axes, from the innermost on */
    int64_t from[PERMUTE_TILES_DIMS], to[PERMUTE_TILES_DIMS];
} permute_tiles_args;

/* packed: see packed.cu, whose diagram shows these. */
enum {
    PACKED_DIMS = 12,
    PACKED_RAGGED = 3, /* axes of which the last tile has fewer */
    PACKED_THREADS = 256,
    PACKED_ITEMS = 16,                  /* words of a thread, at most */
    PACKED_BYTES = 16384,               /* of a tile, at most, */
    PACKED_ROOM = PACKED_BYTES * 9 / 8, /* and with spare bytes between its rows */
};

typedef struct permute_packed_axis {
    int64_t from, to;      /* bytes from a unit to the next, in the input and in the result */
    permute_divisor tile;  /* units of a tile */
    permute_divisor tiles; /* along the axis */
    uint32_t pitch;        /* bytes from a unit to the next in shared memory */
} permute_packed_axis;

/* An axis that its tiles do not divide. */
typedef struct permute_packed_ragged {
    uint32_t axis;
    uint32_t last;               /* units of the last tile */
    permute_divisor load, store; /* units of a tile between its neighbours, in either order */
} permute_packed_ragged;

typedef struct permute_packed_args {
    const char *in;
    char *out;
    uint32_t tiles, units;         /* all tiles, units of a tile */
    uint8_t unit;                  /* bytes */
    uint8_t load_word, store_word; /* units that are moved together */
    uint8_t ndim, loads, stores, ragged;
    /* The axes of which a tile has more than one unit, the closest first: in the input, and in the
     * result. */
    uint8_t load_order[PACKED_DIMS], store_order[PACKED_DIMS];
    permute_packed_ragged rag[PACKED_RAGGED];
    permute_packed_axis axis[PACKED_DIMS]; /* from the innermost of the result on */
} permute_packed_args;

#ifdef __cplusplus
#include "device.h"

GM_DEVICE uint32_t permute_divide(uint32_t n, const permute_divisor &by)
{
    return (uint32_t)((uint64_t)(n << 1) * by.multiplier >> 32) >> by.shift;
}

/* *rest becomes the quotient; the remainder. */
GM_DEVICE uint32_t permute_take(uint32_t *rest, const permute_divisor &by)
{
    const uint32_t quotient = permute_divide(*rest, by), remainder = *rest - quotient * by.by;
    *rest = quotient;
    return remainder;
}
#endif

#endif
