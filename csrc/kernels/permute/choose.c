/*
 * permute: the row for "auto".
 *
 * A few channels have rows of their own, and what comes down to one matrix is a transpose, unless
 * those or smaller blocks are faster. Otherwise each row has an estimate of how long it takes, as a
 * multiple of a copy of as many bytes, and the least one is taken. The estimates are lines through
 * times on H100s: of 780 layouts of 24 MB and more, of 576 smaller ones, and of 930 that are one
 * matrix.
 */
#include "permute/choose.h"

#include <math.h>

#include "backend/backend.h"
#include "permute/plan_channels.h"
#include "permute/plan_joined.h"
#include "permute/plan_layout.h"
#include "permute/plan_matrices.h"
#include "permute/plan_packed.h"
#include "permute/plan_pieces.h"
#include "permute/plan_pixels.h"
#include "permute/plan_shifted.h"

#define GM_FAMILY permute
#define GM_LADDER "permute/ladder.def"
#include "rows.h"

enum {
    FEW = 16, /* units of the innermost axis: the caches have what they leave of a sector */
    CACHED = 24 << 20, /* bytes of an array that the L2 has room for twice */
    LEAST = 1 << 20,   /* bytes: smaller arrays take as long */
    SIDE = 32          /* units, of a tile of the row tiles */
};

/* Per size of a unit: 1, 2, 4, 8, 16 bytes. */
typedef double by_unit[5];

static double of(const by_unit values, const permute_layout *layout)
{
    int log = 0;
    while (1 << log < layout->unit) {
        log++;
    }
    return values[log];
}

static double bytes_of(const permute_layout *layout)
{
    return (double)layout->units * layout->unit;
}

/* What a kernel does before its first load, as the bytes that are copied meanwhile. */
static double beginning(const permute_layout *layout, double bytes)
{
    const double all = bytes_of(layout);
    return bytes / (all > LEAST ? all : LEAST);
}

/* How many times as many sectors as needed are read, of units that are `from` bytes apart. */
static double spread(const permute_layout *layout, int64_t from)
{
    double apart = (double)permute_magnitude(from);
    apart = apart < GM_SECTOR ? apart : GM_SECTOR;
    return apart > layout->unit ? apart / layout->unit : 1;
}

/* How many times as many sectors as needed are read by runs that begin and end inside of them: no
 * more if all are aligned, or if the next run in memory is read while the L2 still has the sector
 * that both share. Gaps between runs are read by all kernels. */
static double ends(const permute_layout *layout, double run)
{
    uintptr_t bits = (uintptr_t)layout->in | (uintptr_t)run;
    bool gaps = true;
    for (int d = 1; d < layout->ndim; d++) {
        bits |= (uintptr_t)layout->from[d];
        gaps = gaps && (double)permute_magnitude(layout->from[d]) != run;
    }
    const bool shared = gaps || permute_reads_next_within(layout, run, CACHED / 2);
    return shared || bits % GM_SECTOR == 0 ? 1 : 1 + GM_SECTOR / run;
}

/* Runs of 64 bytes and less take memory longer, if the next one is not read soon. Of units of 8 and
 * 16 bytes also if it is read a little later, and runs from far away before it. */
static double scattered(const permute_layout *layout, double run)
{
    enum { SOON = 1 << 16, AT_ONCE = 1 << 11 /* bytes of the result */, FAR = 1 << 18 };
    enum { SHORT = 64, LONG = 128 /* bytes of a run */ };
    if (bytes_of(layout) < CACHED || run >= LONG) {
        return 0;
    }
    const bool wide = layout->unit >= 8 && permute_magnitude(layout->from[1]) >= FAR;
    const double late = !permute_reads_next_within(layout, run, SOON)              ? 0.25
                        : wide && !permute_reads_next_within(layout, run, AT_ONCE) ? 0.12
                                                                                   : 0;
    return late * (run <= SHORT ? 1 : (LONG - run) / (LONG - SHORT));
}

static double time_of_runs(const permute_layout *layout)
{
    static const by_unit LARGE = {4.4, 2.3, 1.35, 1.06, 1.04}, SMALL = {3.3, 1.7, 1.15, 1, 1};
    const double base = of(bytes_of(layout) < CACHED ? SMALL : LARGE, layout);
    const bool contiguous = permute_magnitude(layout->from[0]) == layout->unit;
    if (contiguous) {
        const double run = (double)(layout->extent[0] * layout->unit);
        const bool block = layout->ndim == 2 && layout->unit == 4; /* no division but one */
        const double time = !block ? base : bytes_of(layout) < CACHED ? 1.06 : 1.12;
        const double half = run <= GM_SECTOR && bytes_of(layout) >= CACHED ? 0.12 : 0;
        return (time + half + scattered(layout, run)) * ends(layout, run);
    }
    if (layout->unit >= 8 && bytes_of(layout) >= CACHED && permute_has_small_matrices(layout)) {
        return layout->unit == 16 ? 1.02 : 1.04;
    }
    if (layout->ndim > 1 && layout->extent[0] <= FEW && layout->from[1] == layout->unit &&
        layout->unit >= 8) {
        return layout->unit == 16 ? 1.1 : 1.2;
    }
    const bool at_once = layout->ndim == 1 && layout->unit >= 4; /* no division, whole requests */
    return (at_once ? 1 : base) * (1 + spread(layout, layout->from[0])) / 2;
}

/* How much longer words takes where neighbours of the result are far apart in the input. The
 * closest ones are read soon where the result has them close together: the caches still have their
 * sector. Where they have not, it is as slow as runs, unless neighbouring lanes share sectors. */
static double apart(const permute_layout *layout)
{
    static const by_unit SLOPE = {0.38, 0.3, 0.15}, BEGIN = {3.5, 4.5, 4}; /* log2 of bytes */
    /* Of arrays that the L2 holds with their results, neighbours may be read later. */
    static const by_unit SMALL_SLOPE = {0.45, 0.45, 0.25}, SMALL_BEGIN = {6, 5.5, 7};
    static const by_unit LATE = {3.7, 2.2, 1.35};
    const bool small = bytes_of(layout) < 0.5 * CACHED;
    const int closest = permute_closest_axis(layout);
    const int first = layout->from[0] == 0 && layout->ndim > 1 ? 1 : 0;
    const double of_row = first > 0 ? (double)layout->extent[0] : 1; /* that load a sector once */
    const double spread_out = (1 + spread(layout, layout->from[first]) / of_row) / 2;
    const double far = spread_out > 1 ? spread_out : 1;
    if (closest <= first) {
        return far;
    }
    const double late = log2((double)layout->to[closest]) - of(small ? SMALL_BEGIN : BEGIN, layout);
    const double near = (late > 0 ? exp2(of(small ? SMALL_SLOPE : SLOPE, layout) * late) : 1) *
                        (1 + spread(layout, layout->from[closest])) / 2;
    /* Lanes that are neighbours share sectors then, which are read again for what is between. */
    const bool shares = permute_magnitude(layout->from[first]) < GM_SECTOR;
    return near < far ? near : far * (shares ? 1 : of(LATE, layout));
}

/* Fitted to 500 views on an H200, every row of them, of 1 to 400 MB that are reversed, cut,
 * repeated, or have steps; `apart` to 250 that were permuted as well. */
static double time_of_words(const permute_layout *layout)
{
    static const by_unit LARGE = {1.2, 1.04, 1}, SMALL = {1, 0.98, 0.97};
    static const by_unit END = {3, 3, 2};    /* bytes that are copied while a row ends, */
    static const by_unit FAR = {14, 25, 25}; /* and where the next one is in other sectors */
    static const by_unit OFTEN = {0.5}, SHORT = {0.3, 0.1, 0.05}, SINGLE = {1.5, 1, 0.5},
                         UNALIGNED = {0.05, 0.03};
    if (layout->unit > 4) {
        return INFINITY;
    }
    const bool small = bytes_of(layout) < CACHED;
    const double row = (double)(layout->extent[0] * layout->unit);
    double time = of(small ? SMALL : LARGE, layout);
    switch (permute_words_way(layout)) {
    case WORDS_SHORT: time += of(SHORT, layout); break;
    case WORDS_SINGLE: time += of(SINGLE, layout); break;
    default: time += layout->ndim > 1 ? of(END, layout) / row : 0;
    }
    time += permute_words_end_often(layout) ? of(OFTEN, layout) : 0;
    if (permute_magnitude(layout->from[0]) != layout->unit) {
        return fmax(time * apart(layout), permute_words_least_time(layout));
    }
    time += small ? 0 : of(UNALIGNED, layout);
    if (layout->ndim > 1 && (double)permute_magnitude(layout->from[1]) > 2 * row) {
        time += of(FAR, layout) / row;
    }
    return (time + scattered(layout, row)) * ends(layout, row);
}

/* Is some of the input read again and again? */
static bool repeats(const permute_layout *layout)
{
    bool zero = false;
    for (int d = 0; d < layout->ndim; d++) {
        zero = zero || layout->from[d] == 0;
    }
    return zero;
}

/* The ends of runs are joined one by one, and stored in parts of a sector. Units of 8 bytes and
 * more fill requests without that, and gain nothing by it; those of 4 bytes gain less where the L2
 * has room for both arrays. Pixels take longer on the way, which counts where there is little. */
static double time_of_shifted(const permute_layout *layout)
{
    static const by_unit END = {6.5, 6.5, 9}; /* bytes that are copied meanwhile, */
    static const double END_OF_PIXELS = 24;   /* and if rows are pixels */
    static const by_unit AGAIN = {0, 0, 0.1}; /* where memory does not take most of the time */
    static const double AXIS = 2.5;           /* of the rows, beside the first one: bytes as well */
    static const double LITTLE = 6e6;         /* bytes */
    const permute_shifted_row row = permute_shifted_row_of(layout);
    const double run = (double)row.bytes;
    const bool pixels = row.pixel > 1 || row.picked > 0;
    if (row.axes == 0 || layout->unit >= 8 || run < SHIFTED_LEAST) {
        return INFINITY;
    }
    const double end = pixels ? END_OF_PIXELS : of(END, layout);
    const double on_the_way = !pixels ? 0 : bytes_of(layout) < LITTLE ? 0.3 : 0.04;
    const double moved = row.picked == 2 ? 1.5 : 1; /* of others words leaves it out, too */
    const double time = 1.02 + on_the_way + (end + AXIS * (layout->ndim - 2)) / run +
                        2 * scattered(layout, run) + (repeats(layout) ? of(AGAIN, layout) : 0);
    return (time + (layout->unit == 4 && bytes_of(layout) < CACHED ? 0.04 : 0)) *
           ends(layout, run) * moved;
}

/* The share of a row of a tile that is read, or written, beyond it, where rows begin inside of
 * sectors. */
static double beyond(const permute_layout *layout, int across, bool load)
{
    const int64_t *stride = load ? layout->from : layout->to;
    const int64_t extent = layout->extent[across], units = extent < SIDE ? extent : SIDE;
    uintptr_t bits = (uintptr_t)(load ? layout->in : layout->out);
    for (int d = 0; d < layout->ndim; d++) {
        bits |= d == across ? 0 : (uintptr_t)stride[d];
    }
    return permute_past_sector(bits) / (double)(units * layout->unit);
}

/* How much longer the tiles take where memory has to move both arrays: they have little in flight,
 * most so where a tile is all of a matrix, with short rows on both sides. */
static double tiles_behind_memory(const permute_layout *layout, int closest)
{
    static const double WIDE_UNITS = 0.05, SHORT_ROWS = 0.25;
    enum { SHORT = 128 /* bytes */ };
    if (bytes_of(layout) < CACHED) {
        return 0;
    }
    const bool few = layout->extent[0] * layout->unit <= SHORT &&
                     layout->extent[closest] * layout->unit <= SHORT;
    return layout->unit >= 8 ? WIDE_UNITS : few ? SHORT_ROWS : 0;
}

static double time_of_tiles(const permute_layout *layout, const gm_call *call, int closest)
{
    static const by_unit BASE = {1.5, 0.25, 0.57, 0.52, 0.73}, SLOPE = {1.8, 0.4, 0.46, 0.25, 0.09},
                         SHORTEST = {3.3, 1.73, 1.07, 1.04, 1.05};
    if (closest <= 0) {
        return INFINITY;
    }
    double room = 1;
    for (int i = 0; i < 2; i++) {
        int64_t extent = layout->extent[i == 0 ? 0 : closest];
        room *= (double)(permute_divide_up(extent, SIDE) * SIDE) / (double)extent;
    }
    const double time = of(BASE, layout) + of(SLOPE, layout) * room * permute_pace(call);
    const double least = of(SHORTEST, layout);
    return ((time > least ? time : least) + tiles_behind_memory(layout, closest) +
            0.35 * beyond(layout, closest, true) + 0.57 * beyond(layout, 0, false)) *
           (1 + spread(layout, layout->from[closest])) / 2;
}

/* What packed takes beside the cost of its tiles. Where threads join units or shuffle words, that
 * cost has most of it. By 97 layouts of bytes and halves on an H200. */
static const by_unit PACKED = {1.1, 1.11, 0.98, 1.02, 1.08}, PACKED_JOINED = {1.05, 0.95};
static const double BEGIN_OF_PACKED = 6e5; /* bytes that are copied meanwhile */

/* By how much a kernel takes longer, as a multiple of a copy's time, where memory is faster than
 * that of the H100s: the more of its time threads are busy, the longer. The L2 is as fast there. */
static double paced(const permute_layout *layout, const gm_call *call, const by_unit busy)
{
    const double faster = bytes_of(layout) < CACHED ? 0 : permute_pace(call) - 1;
    return 1 + of(busy, layout) * faster;
}

/* Without a plan of its tiles, which takes the host longest. */
static double least_of_packed(const permute_layout *layout)
{
    return layout->unit < 4 ? of(PACKED_JOINED, layout) : of(PACKED, layout);
}

static double time_of_packed(const permute_layout *layout, const gm_call *call)
{
    permute_layout turned = *layout;
    permute_packed_args args;
    double cost;
    permute_turn(&turned);
    if (!permute_plan_packed(&turned, call->device, &args, &cost)) {
        return INFINITY;
    }
    static const by_unit BUSY = {0.5, 0, 0.5, 0.2, 0};
    const bool squares = args.squared < PACKED_DIMS && !args.store.shifted;
    const bool joined = layout->unit < 4 && args.grouped == 0 && !squares;
    return ((joined ? of(PACKED_JOINED, layout) : of(PACKED, layout)) + cost) *
               paced(layout, call, BUSY) +
           beginning(layout, BEGIN_OF_PACKED);
}

/* ---- small arrays: runs or packed ------------------------------------------------------------ */

/* How much of a copy's time grows with the bytes; the rest is the launch and the first load. */
static double growing(const permute_layout *layout)
{
    static const double HALF = 8 << 20; /* bytes that take as long as the rest */
    return bytes_of(layout) / (bytes_of(layout) + HALF);
}

/* How late a unit's neighbour in memory is read, from 0, soon enough for the L1, to 1. */
static double lateness(const permute_layout *layout)
{
    static const double SOON = 2, LATE = 13; /* logarithms of units of the result in between */
    const int64_t apart = layout->to[permute_closest_axis(layout)] / layout->unit;
    const double late = (log2((double)apart) - SOON) / (LATE - SOON);
    return late < 0 ? 0 : late > 1 ? 1 : late;
}

/* The time of runs for each byte of a small array, as a multiple of a copy's. What is read of a
 * sector that the L1 does not keep is loaded again for each unit of it. */
static double pace_of_small_runs(const permute_layout *layout)
{
    static const by_unit CONTIGUOUS = {3.9, 2.3, 1.2, 1.2, 1.32}, SOON = {3.5, 1.8, 1, 0.9, 0.9},
                         LATE = {5.5, 3.3, 2.7, 1.9, 1.45};
    const double unit = layout->unit, apart = (double)permute_magnitude(layout->from[0]);
    if (apart == unit) {
        return of(CONTIGUOUS, layout) * ends(layout, (double)layout->extent[0] * unit);
    }
    const double alone = ((apart < GM_SECTOR ? apart : GM_SECTOR) - unit) / (GM_SECTOR - unit);
    return of(SOON, layout) + (of(LATE, layout) - of(SOON, layout)) * lateness(layout) * alone;
}

/* The estimates above are lines through larger arrays, too. Of small ones runs moves more before
 * packed has its first tile: lines through times of 723 layouts of 1 to 24 MB on an H100, and of
 * units of 4 and 8 bytes of 150 on an H200. */
static bool is_faster_by_runs(const permute_layout *layout, double time_of_packed)
{
    static const double BEGIN = 1.4; /* of packed, for an array of no bytes */
    const double cost = time_of_packed - beginning(layout, BEGIN_OF_PACKED);
    return bytes_of(layout) < CACHED && permute_closest_axis(layout) >= 0 &&
           (pace_of_small_runs(layout) - 1) * growing(layout) + 1 <
               (cost - BEGIN) * growing(layout) + BEGIN;
}

/* ---- the choice ------------------------------------------------------------------------------ */

typedef struct choice {
    int row;
    double time;
} choice;

static void consider(choice *best, const gm_call *call, int row, double time)
{
    if (time < best->time && gm_variant_can(gm_row(call, row), call)) {
        *best = (choice){row, time};
    }
}

/* ---- one matrix ------------------------------------------------------------------------------ */

/* Has transpose tiles of vectors for it, or another kernel that is as fast for small matrices? For
 * units of 4 bytes and more that is where tiles are full; for smaller ones where rows are whole
 * vectors on both sides, or where a few rows of halves are gathered. */
static bool suits_transpose(const permute_layout *layout)
{
    enum { VECTOR = 16 /* bytes */, GATHERED = 128 /* halves */ };
    const int64_t rows = layout->extent[0], cols = layout->extent[1], unit = layout->unit;
    if (unit >= 4) {
        return (rows < cols ? rows : cols) > (unit == 16 ? SIDE / 2 : SIDE - 1);
    }
    const uintptr_t bits = (uintptr_t)layout->in | (uintptr_t)layout->out |
                           (uintptr_t)layout->from[0] | (uintptr_t)(rows * unit) |
                           (uintptr_t)(cols * unit);
    return bits % VECTOR == 0 || (unit == 2 && rows < GATHERED);
}

/* Eight blocks of tiles have room on a multiprocessor: a small matrix is moved in some two waves of
 * them, if enough lanes have a unit. Transpose's blocks are larger, and fewer. */
static bool has_few_tiles(const permute_layout *layout, const gm_call *call)
{
    enum { MOST = 20 /* per multiprocessor */, LEAST_SIDE = SIDE / 5 + 1 };
    const int64_t rows = layout->extent[0], cols = layout->extent[1];
    const int64_t tiles = permute_divide_up(rows, SIDE) * permute_divide_up(cols, SIDE);
    return (rows < cols ? rows : cols) >= LEAST_SIDE &&
           tiles <= MOST * (int64_t)call->device->multiprocessors;
}

/* Few units in each row, from anywhere in a vector on: transpose reads these one by one, of bytes
 * words. How long that takes; 0: it has other rows. */
static double time_of_few_units(const permute_layout *layout)
{
    static const by_unit TIME = {2.2, 1.2, 1.2};
    const uintptr_t begin = (uintptr_t)layout->in % PACKED_VECTOR;
    const bool large = bytes_of(layout) >= CACHED, words = layout->unit > 1 || begin % 4 == 0;
    const bool longer = begin > 0 && layout->unit <= 4 && words && (large || layout->unit == 2);
    return longer && layout->extent[1] < FEW ? of(TIME, layout) : 0;
}

/* Transpose's kernels for units of 8 and 16 bytes take some time longer than tiles do where the L2
 * does not hold the array and the result; 0: they do not. */
static double time_of_matrix(const permute_layout *layout)
{
    const bool longer = layout->unit >= 8 && bytes_of(layout) >= 0.5 * CACHED;
    return longer ? 1.02 + beginning(layout, 5e5 * layout->unit) : time_of_few_units(layout);
}

static const gm_variant *choose_for_matrix(const permute_layout *layout, const gm_call *call)
{
    enum { PARALLEL = 3 /* rows of which a warp reads whole sectors */ };
    if (layout->unit == 8 && layout->extent[0] <= PARALLEL && bytes_of(layout) < CACHED) {
        return gm_row(call, permute_row_runs);
    }
    const bool few = has_few_tiles(layout, call) && !suits_transpose(layout);
    choice best = {permute_row_matrix, few ? INFINITY : time_of_matrix(layout)};
    consider(&best, call, permute_row_tiles, time_of_tiles(layout, call, 1));
    const bool much = bytes_of(layout) > 1.5 * CACHED;
    if (much && permute_shifted_time(layout) > 0 && !suits_transpose(layout)) {
        const bool whole = layout->unit == call->in[0].itemsize;
        best.time = permute_shifted_time(layout);
        consider(&best, call, whole ? permute_row_matrices : permute_row_units,
                 permute_matrices_time(layout, call));
    }
    if (time_of_few_units(layout) > 0) {
        consider(&best, call, permute_row_packed, time_of_packed(layout, call));
    }
    return gm_row(call, best.row);
}

/* ---- all layouts ----------------------------------------------------------------------------- */

/* A result with gaps between its rows, as a block of a larger array has. */
static const gm_variant *choose_with_gaps(const gm_call *call)
{
    permute_layout layout;
    if (call->in[0].bytes == 0) {
        return gm_row(call, permute_row_runs);
    }
    permute_fold(call, PERMUTE_WIDEST, &layout);
    /* A row's first and last vector are stored in parts: few of them gain nothing, and neither do
     * small arrays of units that fill requests without. */
    enum { UNITS = 16 };
    const bool wide = layout.unit == 8 && bytes_of(&layout) < CACHED;
    if (!wide && permute_shifted_row_of(&layout).bytes >= (int64_t)UNITS * layout.unit &&
        gm_variant_can(gm_row(call, permute_row_shifted), call)) {
        return gm_row(call, permute_row_shifted);
    }
    if (layout.unit != call->in[0].itemsize) {
        return gm_row(call, permute_row_tiles);
    }
    if (permute_joined_time(&layout, call) < permute_matrices_time(&layout, call)) {
        return gm_row(call, permute_row_joined);
    }
    return gm_first_that_fits(call, GM_ROWS(permute_row_matrices, permute_row_tiles));
}

const gm_variant *permute_choose(const gm_call *call)
{
    permute_layout layout;
    if (!call->out.contiguous) {
        return choose_with_gaps(call);
    }
    if (permute_is_contiguous(call)) {
        return gm_row(call, permute_row_contiguous);
    }
    permute_fold(call, PERMUTE_WIDEST, &layout);
    const bool whole = layout.unit == call->in[0].itemsize; /* elements are units */
    if (permute_prefers_pixels(&layout)) {
        return gm_row(call, whole ? permute_row_pixels : permute_row_units);
    }
    if (layout.ndim == 2 && permute_prefers_channels(&layout, call)) {
        return gm_row(call, whole ? permute_row_channels : permute_row_units);
    }
    if (layout.ndim == 2 && gm_variant_can(gm_row(call, permute_row_matrix), call)) {
        return choose_for_matrix(&layout, call);
    }
    choice best = {permute_row_elementwise, INFINITY};
    consider(&best, call, permute_row_runs, time_of_runs(&layout));
    consider(&best, call, permute_row_words, time_of_words(&layout));
    consider(&best, call, permute_row_shifted, time_of_shifted(&layout));
    consider(&best, call, permute_row_tiles,
             time_of_tiles(&layout, call, permute_closest_axis(&layout)));
    consider(&best, call, whole ? permute_row_matrices : permute_row_units,
             permute_matrices_time(&layout, call));
    consider(&best, call, whole ? permute_row_joined : permute_row_units,
             permute_joined_time(&layout, call));
    consider(&best, call, whole ? permute_row_channels : permute_row_units,
             permute_channels_time(&layout, call));
    if (best.time > least_of_packed(&layout)) {
        consider(&best, call, permute_row_packed, time_of_packed(&layout, call));
    }
    if (best.row == permute_row_packed && permute_are_short_images(&layout)) {
        consider(&best, call, permute_row_words, 0);
    } else if (best.row == permute_row_packed && is_faster_by_runs(&layout, best.time)) {
        static const double SOON = 1.2;
        const bool words = layout.unit <= 4 && apart(&layout) < SOON;
        consider(&best, call, words ? permute_row_words : permute_row_runs, 0);
    }
    return gm_row(call, best.row);
}
