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

#include "divisor.h"
#include "transpose/transpose.h"

typedef gm_divisor permute_divisor;

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

/* runs: the same, with axes from the innermost on. */
typedef struct permute_runs_args {
    const char *in;
    char *out;
    int64_t units;
    int unit, ndim;
    bool is_near; /* all of the input is less than 2 GiB away from its first element */
    permute_divisor extent[PERMUTE_RUNS_DIMS]; /* where `units` is below 2^31 */
    int64_t long_extent[PERMUTE_RUNS_DIMS];
    int64_t from[PERMUTE_RUNS_DIMS];
} permute_runs_args;

/*
 * words: the same, of a piece of the result. What a word has, which decides on the kernel:
 *
 *     ANY      units of one row of the input, or of two, any distance apart
 *     SAME     one unit again and again, or that and the next row's
 *     SHORT    units of several rows, which are shorter than a word
 *     SINGLE   of so many short rows that their axis ends as well: each unit is found by itself
 */
typedef enum words_way { WORDS_ANY, WORDS_SAME, WORDS_SHORT, WORDS_SINGLE, WORDS_WAYS } words_way;

/* Bytes of a word. A thread has two of them. */
#define WORDS_BYTES(unit, way)                                                                     \
    ((unit) == 1 && ((way) == WORDS_ANY || (way) == WORDS_SINGLE) ? 8 : 16)
enum { WORDS_EACH = 2 };

typedef struct permute_words_args {
    const char *in;
    char *out;
    int64_t units;
    uint32_t reciprocal; /* of 2^32, rounded up: the innermost axis, where it is short */
    int lead; /* units between the begin of the word in which the result begins, and that */
    int unit, ndim;
    permute_divisor extent[PERMUTE_RUNS_DIMS];
    int32_t from[PERMUTE_RUNS_DIMS];
} permute_words_args;

/* Axes other than the two of a matrix, from the innermost on. */
typedef struct permute_outer {
    int ndim;
    permute_divisor extent[PERMUTE_TILES_DIMS];
    int64_t from[PERMUTE_TILES_DIMS], to[PERMUTE_TILES_DIMS];
} permute_outer;

/* shifted: rows of `run` bytes, which follow each other in the result unless that has gaps. Rows of
 * pixels have the units of each in the opposite order to that of the row, see shifted_pixels.h, or
 * some of its bytes, see shifted_picked.h. */
enum {
    SHIFTED_LEAST = 16,
    SHIFTED_MOST = 1 << 30, /* bytes of a row */
    SHIFTED_BESIDE = 4,     /* so far from its place in the row, in bytes, a pixel's unit may be: */
    SHIFTED_PIXEL = 5       /* then it has so many units at most */
};

/* Of pixels of so many bytes some are picked: the first of three words in which those of a word of
 * the result are, from the begin of the pixel on with which its vector begins. */
#define SHIFTED_PICKED_FROM(units, bytes, word) ((word)*4 / (units) * (bytes) / 4)

typedef struct permute_shifted_args {
    const char *in;
    char *out;
    const char *begin, *end; /* the input's memory */
    int64_t bytes;           /* of the result, */
    int lead;                /* and between it and the vector's begin in which it begins */
    int backwards;           /* 0, or the bytes of a unit, or pixel, of rows that run backwards, */
    uint32_t order;          /* and the bytes of a word in their order there, see __byte_perm */
    permute_divisor run;
    permute_outer outer;     /* of the rows; `to` is used where the result has gaps between them, */
    permute_divisor vectors; /* which have parts of so many vectors each, */
    int64_t count;           /* and of so many together */
    permute_divisor pixel;   /* bytes, in the result; 1: there are none, or one is picked */
    int log_unit;            /* of the bytes of a pixel's unit */
    int picked;              /* 0, or bytes of a pixel of which some are picked: the first, */
    int first, step;         /* and how far away the next ones are */
    /* How a word of the result is made of three words of the window: the order for the first two,
     * and 16 bits on that for the result and the third. By the unit of its pixel with which a
     * vector begins, and by the vector's word. */
    uint32_t select[SHIFTED_PIXEL][4];
} permute_shifted_args;

/* tiles: a matrix for each index of the outer axes. Rows run on in the result, columns are what
 * is closest in the input. */
typedef struct permute_tiles_args {
    const char *in;
    char *out;
    int unit;
    int64_t rows, cols;
    int64_t from_row,
        from_col;   /* from a row to the next, from a column to the next, in the input */
    int64_t to_col; /* from a column to the next in the result */
    permute_divisor tiles_x, tiles_y;
    permute_outer outer;
} permute_tiles_args;

/* Tiles of matrices, one for a block: see permute_spot_of. */
typedef struct permute_grid {
    permute_divisor tiles_x, bands; /* of a matrix */
    uint32_t tiles_y;
    uint32_t columns; /* of tiles, of all bands and matrices; 0: y and z of the grid count them */
    permute_outer outer;
} permute_grid;

/* gathered: a tile of gathered_tile.h. */
enum { GATHERED_THREADS = 256 };

typedef struct permute_gathered {
    uint32_t step;           /* rows from a tile to the next, whole sectors of the output, */
    uint32_t halo;           /* and rows that a tile has of the one before */
    uint32_t width;          /* columns */
    permute_divisor vectors; /* of a row in shared memory */
    uint32_t apart;          /* columns that a warp stores together are 2^apart from each other */
    bool uneven;             /* rows of the output are not made of whole sectors */
    int chained;             /* the next row of the output is that of the matrix so much further, */
    int columns;             /* or of the column: 0, or 1 in either direction; */
    int64_t jump;            /* bytes from where another row would be to the first of that */
} permute_gathered;

/* matrices: the same, with the tiles of the family transpose. */
typedef struct permute_matrices_args {
    transpose_args walk;     /* the first matrix */
    const char *begin, *end; /* the memory of all */
    permute_grid grid;
    permute_gathered gathered;
} permute_matrices_args;

/* joined: a tile of joined_tile.h, whose rows and columns are along several axes each. */
enum { JOINED_THREADS = 256, JOINED_LANES = 8, JOINED_DIMS = 4 };

/* From the innermost on. */
typedef struct permute_joined_side {
    int ndim;
    permute_divisor extent[JOINED_DIMS];
    int64_t stride[JOINED_DIMS]; /* bytes: of lines in the input, of columns in the result */
} permute_joined_side;

typedef struct permute_joined_args {
    const char *in;
    char *out;
    const char *begin, *end; /* the input's memory */
    permute_grid grid;
    permute_joined_side line, col;
    uint32_t rows, cols;     /* of a matrix */
    permute_divisor run;     /* rows of a line, */
    uint32_t lines, most;    /* of which a matrix has so many, and a tile parts of so many */
    uint32_t step;           /* rows from a tile to the next, whole sectors of the result, */
    uint32_t halo;           /* and rows that a tile has of the one before */
    uint32_t width;          /* columns of a tile */
    permute_divisor vectors; /* of a line in shared memory, */
    uint32_t gap;            /* where one is free behind every 2^gap lines */
    uint32_t apart;          /* columns that a warp stores together are 2^apart from each other */
    uint32_t tables;         /* bytes */
    bool turned;             /* and would read the same banks in the same order */
    bool uneven;             /* columns of the result are not made of whole sectors */
    bool next_is_column; /* what is behind a column in the result is another one of the matrix, */
    int next;            /* or that of another matrix: 0, or 1 in either direction along an axis */
    permute_divisor next_inner, next_extent; /* with so many of them before it */
    int64_t jump; /* bytes in the input from where a column begins to where that one does */
} permute_joined_args;

/* pixels: `channels` units of a pixel that lie together on one side, and planes of them on the
 * other. */
enum { PIXELS_THREADS = 128, PIXELS_SPANS = 4, PIXELS_LEAST = 2, PIXELS_MOST = 4 };

typedef struct permute_pixels_args {
    const char *in;
    char *out;
    int64_t plane;            /* bytes from a plane to the next */
    int64_t pixels;           /* of a plane, */
    int64_t vectors;          /* and vectors that would have room in it */
    uint32_t warps;           /* with something to do */
    uint8_t vector, channels; /* bytes, and a number */
    bool to_planes;
    permute_divisor shares; /* of an image, one for a warp */
    permute_outer outer;
} permute_pixels_args;

/* channels: more of them. See channels.cu. */
enum {
    CHANNELS_THREADS = 256,
    CHANNELS_LEAST = 2,
    CHANNELS_MOST = 64,
    CHANNELS_ENOUGH = 1 << 24 /* pixels: more than a tile has */
};

typedef struct permute_channels_args {
    const char *in;
    char *out;
    const char *begin, *end; /* the input's memory */
    int64_t plane, other;    /* bytes from a plane to the next; from `inner` planes to the next */
    int64_t pixels;          /* of a plane, */
    permute_divisor tiles;   /* and tiles of them */
    permute_divisor channels, inner;
    permute_divisor vectors; /* that a row of a tile touches at most, */
    uint32_t stride;         /* and in shared memory from a row to the next */
    uint32_t gap;            /* where one is free behind every 2^gap rows */
    uint32_t step;           /* pixels from a tile to the next, whole sectors of each plane, */
    uint32_t halo;           /* and those of the next one that a tile has */
    uint32_t apart;          /* to planes: from a channel to the one that the next lanes have, */
    uint32_t shares;         /* to planes: of a plane; eight lanes have one at a time */
    uint32_t busy, on; /* from planes: threads, and bytes from a thread's vector to its next */
    uint32_t blocks;
    bool to_planes;
    permute_outer outer;
} permute_channels_args;

/* packed: see packed.cu, whose diagram shows these. Large arrays have large tiles, whose rows are
 * longer; small ones have as many threads in smaller blocks. */
enum {
    PACKED_THREADS = 384, /* of a block, */
    PACKED_BLOCKS = 2,    /* and blocks of a multiprocessor: more were slower on an H200 */
    PACKED_BYTES = 45056, /* of a tile, at most */
    PACKED_FEW_THREADS = 256,
    PACKED_FEW_BLOCKS = 3,
    PACKED_FEW_BYTES = 24576,
    PACKED_DIMS = 10,
    PACKED_RAGGED = 6,       /* axes of which the last tile has fewer */
    PACKED_BATCH = 4,        /* rows of a thread in flight together */
    PACKED_VECTOR = 16,      /* bytes: the most that it loads at a time */
    PACKED_ROWS = 1024,      /* of a tile on a side, */
    PACKED_RUN = 4096,       /* and units of a row of the result, at most */
    PACKED_ROW_BYTES = 8,    /* in the tables, */
    PACKED_PLACE_BYTES = 24, /* of where a tile begins, */
    PACKED_PLACES = 4,       /* of which one is spare: tables begin at multiples of 16 bytes; */
    PACKED_STEP_BYTES = 48,  /* and of what that is worked out from */
};

/* So many of a block's threads store words of rows that begin anywhere. */
#define PACKED_FRESH(threads) ((threads) / 32 * 31)

typedef struct permute_packed_axis {
    int64_t from, to;      /* bytes from a unit to the next, in the input and in the result */
    permute_divisor tile;  /* units of a tile */
    permute_divisor tiles; /* along the axis, */
    permute_divisor inner; /* and of all axes before it together */
    /* In shared memory: bytes from a unit to the next in a group of 2^bits, and to the next group.
     */
    uint32_t low, high, bits;
    uint32_t last;   /* units of the last tile, */
    uint32_t ragged; /* and its bit of packed_place.last, or 0 */
} permute_packed_axis;

/* The input's or the result's side of a tile: rows of words that are evenly spaced. */
typedef struct permute_packed_side {
    uint32_t run;      /* words of a row */
    uint32_t rows;     /* of a tile */
    uint32_t together; /* rows that a block moves at a time */
    uint32_t room;     /* rows of its table: whole batches of these */
    int32_t step;      /* words from a word of a row to the next */
    uint32_t last; /* words of a row where the tile is the last along the row's outermost axis, */
    uint32_t last_bit;    /* as bit of packed_place.last */
    uint32_t units;       /* of a row */
    bool shifted;         /* it begins anywhere in words: `last` is units, `at` of a row bytes */
    bool along;           /* few rows, long ones: see packed.cu */
    uint8_t word;         /* bytes */
    uint8_t word_bits;    /* log2 of that */
    uint8_t first, count; /* rows begin at axes order[first] to order[count - 1] */
    uint8_t order[PACKED_DIMS];
} permute_packed_side;

typedef struct permute_packed_args {
    const char *in;
    char *out;
    const char *begin, *end;            /* the input's memory */
    int64_t reach_before, reach_behind; /* bytes, of a tile from where it begins in that */
    uint32_t tiles;                     /* all of them */
    uint32_t wave, each;                /* blocks resident at once; tiles of a block */
    uint32_t buffer;                    /* bytes of a tile in shared memory */
    uint16_t threads;                   /* of a block */
    uint8_t blocks;                     /* of a multiprocessor */
    uint8_t unit;                       /* bytes */
    uint8_t ndim;
    uint8_t ragged;  /* axes that their tiles do not divide */
    uint8_t squared; /* PACKED_DIMS, or the axis of whose units a thread stores several, */
    uint8_t split;   /* PACKED_DIMS, or the axis of which a row of the input has a part: */
    bool chained, completes, unaligned; /* see packed_store_shifted.h */
    bool clears;                        /* words are read that have bytes which no tile sets */
    uint8_t halo, halo_axis; /* units behind a row of the result, along this axis; plan_halo.c */
    uint32_t entries;        /* of the table of units: whole batches */
    uint8_t grouped;         /* of packed_store_squares.h: axes, first in the store's order, */
    uint32_t group_units;    /* units of a tile along these, */
    permute_divisor groups;  /* and rows of the table for them */
    int32_t square_step;     /* so many words, or bytes, from one to the next, */
    permute_divisor squares; /* and so many such groups are in a tile */
    permute_divisor splits;  /* a group; so many of them are in a tile */
    permute_packed_side load, store;
    permute_packed_axis axis[PACKED_DIMS]; /* from the innermost of the result on */
} permute_packed_args;

#ifdef __cplusplus
#include "device.h"

GM_DEVICE uint32_t permute_divide(uint32_t n, const permute_divisor &by)
{
    return gm_divide(n, by);
}

GM_DEVICE uint32_t permute_take(uint32_t *rest, const permute_divisor &by)
{
    return gm_take(rest, by);
}

/* The tile of a block, and its matrix; no tile if y is not below tiles_y. */
typedef struct permute_spot {
    uint32_t x, y, index;
} permute_spot;

/*
 * Blocks start in the order of x, then y, then z of the grid:
 *
 *     x  down a band of a column of tiles
 *     y  columns of tiles of a matrix
 *     z  bands of a matrix, then matrices
 *
 * Threads divide for bands only where there are several. Where y or z cannot count so many, they
 * count columns of all bands and matrices together, `columns` of them: one more division, and the
 * last blocks have nothing to do.
 */
GM_DEVICE permute_spot permute_spot_of(const permute_grid &grid)
{
    permute_spot spot = {blockIdx.y, blockIdx.x, blockIdx.z};
    if (grid.columns > 0) {
        spot.index = blockIdx.z * gridDim.y + blockIdx.y;
        if (spot.index >= grid.columns) {
            spot.y = grid.tiles_y;
            return spot;
        }
        spot.x = permute_take(&spot.index, grid.tiles_x);
    }
    if (grid.bands.by > 1) {
        spot.y += permute_take(&spot.index, grid.bands) * gridDim.x;
    }
    return spot;
}

/* Where matrix number `index` begins. There are no more, so that the last axis needs no division.
 */
GM_DEVICE void permute_move_to(const permute_outer &outer, uint32_t index, const char **in,
                               char **out)
{
    const int last = outer.ndim - 1;
    for (int d = 0; d < last; d++) {
        const uint32_t at = permute_take(&index, outer.extent[d]);
        *in += at * outer.from[d];
        *out += at * outer.to[d];
    }
    if (last >= 0) {
        *in += index * outer.from[last];
        *out += index * outer.to[last];
    }
}
#endif

#endif
