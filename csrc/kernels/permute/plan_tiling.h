/* permute: a tile of packed, while it is planned. */
#ifndef GPUMEM_PERMUTE_PLAN_TILING_H
#define GPUMEM_PERMUTE_PLAN_TILING_H

#include "permute/plan_layout.h"

enum {
    WORD = 4,          /* bytes that small units are joined to */
    VECTOR = 16,       /* and of a thread's words of a row, in groups */
    ENOUGH = 128,      /* bytes of a run */
    LEAST_BYTES = 4096 /* of a tile */
};

/* A side's first axes, whose units are evenly spaced; contiguous, if there is more than one. */
typedef struct run {
    int axes;
    int64_t units, last; /* in a tile, and in the last one along the outermost of these axes */
    bool contiguous;
} run;

typedef struct tiling {
    int ndim;
    int64_t extent[PACKED_DIMS], from[PACKED_DIMS], to[PACKED_DIMS];
    int64_t tile[PACKED_DIMS];
    int load[PACKED_DIMS], store[PACKED_DIMS]; /* all axes, the closest first */
    run load_run, store_run;
    int threads, most;               /* of a block; bytes of a tile, at most */
    int unit, load_word, store_word; /* bytes; units */
    int squared;                     /* see permute_packed_args */
    int grouped;                     /* so many of the first axes of the load order; 0: no groups */
    bool load_shifted, store_shifted; /* rows begin anywhere in words */
    int vector;                       /* bytes: what shifted rows are loaded in */
    int split, split_bits;            /* see permute_packed_args */
    unsigned begin;                   /* of the input, in a sector */
    int halo, halo_axis;              /* units behind rows of the result; see plan_halo.c */
    double cost;                      /* see plan_extents.c */
} tiling;

/* Where units are in shared memory: bytes along each axis, as permute_packed_axis has them. */
typedef struct permute_places {
    int64_t low[PACKED_DIMS], high[PACKED_DIMS];
    int bits[PACKED_DIMS];
    int64_t bytes; /* of all */
} permute_places;

/* What is worked out for a layout. */
typedef struct permute_packed_plan {
    permute_packed_args args; /* without addresses */
    double cost;
    int64_t moved; /* units: all, if groups of rows leave none out */
} permute_packed_plan;

bool permute_make_plan(const permute_layout *layout, int multiprocessors,
                       permute_packed_plan *plan);

int64_t permute_units_of_tile(const tiling *t);

/* Words of so many bytes that a row of units which begins anywhere has a part of, at most. */
uint32_t permute_words_of_row(const tiling *t, int64_t units, int word);

/* Does each row of the result begin where the one of the unit before ends, along the squared axis?
 */
bool permute_is_chained(const tiling *t);

/* Units behind a row of the result that complete the sector in which it ends. */
int64_t permute_units_behind(const tiling *t);

/* Are all places of a tile within 32 bits, counted in pieces of so many bytes? */
bool permute_is_near(const tiling *t, const int64_t *stride, int bytes);

/* Do all rows of the input begin with a vector, of those that they are loaded in? */
bool permute_loads_whole(const tiling *t);

/* Units of a tile along the axes in groups, of which there are so many: of a word each, but for the
 * last, which may be shorter. */
int64_t permute_units_in_groups(const tiling *t);
int64_t permute_groups(const tiling *t);
bool permute_is_grouped(const tiling *t, int axis);

/* Groups of short rows of the result as an axis of their own: see plan_groups.c. False if there are
 * none. `all`: as many rows in each group as divide all; otherwise groups of whole vectors, without
 * the last rows, if no such number divides all. */
bool permute_divide_rows(const permute_layout *layout, bool all, permute_layout *divided);

/* What groups leave that have so many units; false: nothing. */
bool permute_rest_of(const permute_layout *layout, int64_t moved, permute_layout *rest);

/* The words of both sides, and whether they are squares; in groups only if these may be. */
void permute_choose_words(tiling *t, const permute_layout *layout, bool in_groups);

/* The axes in order, a tile's extents and runs; false if none fits. */
bool permute_choose_extents(tiling *t, const permute_layout *layout, int multiprocessors);

/* The run of a side's first axes, of at most so many, that goes on as far as its units are
 * contiguous. */
run permute_longest_run(const tiling *t, bool load, int axes);

/* Whether rows of the result end with whole sectors, and the units that these need. */
void permute_choose_halo(tiling *t, const permute_layout *layout);

/* The load order of a tile with a halo, which comes last in it. */
void permute_order_halo(tiling *t);

/* The order of tiles, as axes: along the first one they follow each other. */
void permute_order_tiles(const tiling *t, uintptr_t in, int *order);
int64_t permute_tiles_along(const tiling *t, int axis);

/* Rows of the input that end one axis earlier; false if they were too short, or too many. */
bool permute_shorten_run(tiling *t);

/* With spare bytes between rows, where these avoid bank conflicts. `passes`: of two warps' loads
 * from shared memory. */
permute_places permute_choose_places(const tiling *t, int *passes);

#endif
