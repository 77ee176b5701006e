/*
 * permute: which units a tile of packed has.
 *
 * A tile takes the axes that are closest in the input until a run of them is as long as wanted, and
 * those that are innermost in the result likewise; what room is left is for more rows. Of several
 * lengths wanted on either side the plan takes those for which the memory has least to do.
 */
#include "permute/plan_tiling.h"

/* Axes by their distance in the input; those whose units share one address come last. */
static void sort_axes(tiling *t)
{
    for (int d = 0; d < t->ndim; d++) {
        uint64_t distance = (uint64_t)permute_magnitude(t->from[d]) - 1;
        int at = d;
        for (; at > 0 && (uint64_t)permute_magnitude(t->from[t->load[at - 1]]) - 1 > distance;
             at--) {
            t->load[at] = t->load[at - 1];
        }
        t->load[at] = d;
        t->store[d] = d;
    }
}

/* ---- extents ------------------------------------------------------------------------------- */

/* So many of `extent` that all tiles have about as many, in multiples of `step` where there is more
 * than one. */
static int64_t even_share(int64_t extent, int64_t most, int64_t step)
{
    int64_t share = permute_divide_up(extent, permute_divide_up(extent, most));
    int64_t whole = permute_divide_up(share, step) * step;
    return whole < extent ? whole : extent;
}

/* Axes of a side, until a run of them is `goal` units long; at most `most`. */
static void cover(tiling *t, bool load, int64_t goal, int64_t most)
{
    const int *order = load ? t->load : t->store;
    const int64_t *stride = load ? t->from : t->to;
    int64_t covered = 1;
    for (int i = 0; i < t->ndim && covered < goal; i++) {
        int d = order[i];
        int64_t wanted = permute_divide_up(goal, covered), room = most / covered;
        int64_t slack = wanted + wanted / 2 < room ? wanted + wanted / 2 : room;
        int64_t share = t->extent[d];
        if (share > slack) {
            /* A run ends with a sector. */
            int64_t step = 1;
            while (stride[d] == covered * t->unit && step * covered * t->unit % GM_SECTOR != 0) {
                step *= 2;
            }
            share = even_share(t->extent[d], wanted, step);
        }
        t->tile[d] = share > t->tile[d] ? share : t->tile[d];
        covered *= t->tile[d];
    }
}

int64_t permute_units_of_tile(const tiling *t)
{
    int64_t units = 1;
    for (int d = 0; d < t->ndim; d++) {
        units *= t->tile[d]; /* none is longer than 1.5 goals; see choose_tile's limit */
        if (units > PACKED_BYTES) {
            return INT64_MAX;
        }
    }
    return units;
}

/* What room is left is for other axes: more rows on both sides. */
static void grow(tiling *t, int64_t most)
{
    for (int d = 0; d < t->ndim; d++) {
        int64_t times = most / permute_units_of_tile(t);
        if (t->tile[d] == 1 && times > 1) {
            int64_t step = times > 2 * GM_SECTOR ? GM_SECTOR : times > 8 ? 4 : 1;
            int64_t share = even_share(t->extent[d], times / step * step, step);
            t->tile[d] = share <= times ? share : times;
        }
    }
}

/* Units of a tile, at most: small arrays are cut into enough tiles for all multiprocessors. Tiles
 * of 32 KiB were slower on an H200, for bytes and halves that are not aligned to words by a third.
 */
static int64_t room(const tiling *t, int multiprocessors)
{
    int64_t bytes = PACKED_BYTES, all = t->unit;
    for (int d = 0; d < t->ndim; d++) {
        all *= t->extent[d]; /* as in memory: no overflow */
    }
    while (bytes > LEAST_BYTES && all / bytes / 2 < multiprocessors) {
        bytes /= 2;
    }
    return bytes / t->unit;
}

static int ragged_axes(const tiling *t)
{
    int count = 0;
    for (int d = 0; d < t->ndim; d++) {
        count += t->extent[d] % t->tile[d] != 0;
    }
    return count;
}

/* Units that are contiguous on a side, from the closest one of a tile on, until they are enough; of
 * at most so many axes. A run ends behind the first axis of which a tile has a part; one whose
 * units are not contiguous is a single axis. */
static run find_run(const tiling *t, bool load, int most, int64_t enough)
{
    const int *order = load ? t->load : t->store;
    const int64_t *stride = load ? t->from : t->to;
    run found = {.units = 1, .last = 1};
    for (int i = 0; i < most; i++) {
        int d = order[i];
        bool joins = stride[d] == found.units * t->unit &&
                     (load || i == 0 || found.units * t->tile[d] <= PACKED_RUN);
        if (i > 0 && !joins) {
            break;
        }
        found.axes = i + 1;
        found.last = found.units * ((t->extent[d] - 1) % t->tile[d] + 1);
        found.units *= t->tile[d];
        if (!joins || t->tile[d] != t->extent[d] || found.units * t->unit >= enough) {
            break;
        }
    }
    found.contiguous = stride[order[0]] == t->unit;
    return found;
}

static bool fits_tables(const tiling *t)
{
    int64_t units = permute_units_of_tile(t);
    return ragged_axes(t) <= PACKED_RAGGED && units / t->load_run.units <= PACKED_ROWS &&
           units / t->store_run.units <= PACKED_ROWS && t->store_run.units <= PACKED_RUN;
}

/* ---- the choice ---------------------------------------------------------------------------- */

/* What the memory has to do for a byte of a side, 1 at best: the ends of runs cost it more where
 * these are not the ends of sectors. */
static double cost_of_side(const tiling *t, bool load, uintptr_t data)
{
    const int *order = load ? t->load : t->store;
    const int64_t *stride = load ? t->from : t->to;
    int64_t run = t->unit;
    uintptr_t ends = data;
    bool whole = true;
    for (int i = 0; i < t->ndim; i++) {
        int d = order[i];
        bool joins = whole && stride[d] == run;
        run *= joins ? t->tile[d] : 1;
        ends |= (uintptr_t)(joins ? stride[d] * t->tile[d] : stride[d]);
        whole = joins && t->tile[d] == t->extent[d];
    }
    return 1 + (ends % GM_SECTOR == 0 ? 16.0 : 48.0) / (double)run;
}

/* Both sides, and what a block does for each tile. */
static double cost_of(const tiling *t, const permute_layout *layout)
{
    return cost_of_side(t, true, (uintptr_t)layout->in) +
           cost_of_side(t, false, (uintptr_t)layout->out) +
           1024.0 / (double)(permute_units_of_tile(t) * t->unit);
}

/* A tile with runs of about so many units. */
static bool make_tile(tiling *t, int64_t load, int64_t store, int64_t most)
{
    for (int d = 0; d < t->ndim; d++) {
        t->tile[d] = 1;
    }
    cover(t, true, load, most);
    cover(t, false, store, PACKED_RUN);
    if (permute_units_of_tile(t) > most) {
        return false;
    }
    grow(t, most);
    t->load_run = find_run(t, true, t->ndim, ENOUGH);
    t->store_run = find_run(t, false, t->ndim, ENOUGH);
    return fits_tables(t);
}

run permute_longest_run(const tiling *t, bool load)
{
    return find_run(t, load, t->ndim, INT64_MAX);
}

bool permute_shorten_run(tiling *t)
{
    tiling shorter = *t;
    shorter.load_run = find_run(t, true, t->load_run.axes - 1, ENOUGH);
    if (shorter.load_run.units * t->unit < GM_SECTOR || !fits_tables(&shorter)) {
        return false;
    }
    *t = shorter;
    return true;
}

bool permute_choose_extents(tiling *t, const permute_layout *layout, int multiprocessors)
{
    static const int bytes[] = {1, 32, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096};
    enum { COUNT = sizeof bytes / sizeof *bytes };
    double least = 0;
    tiling best = *t;
    sort_axes(t);
    const int64_t most = room(t, multiprocessors);
    for (int i = 0; i < COUNT * COUNT; i++) {
        int64_t load = permute_divide_up(bytes[i / COUNT], t->unit);
        int64_t store = permute_divide_up(bytes[i % COUNT], t->unit);
        if (make_tile(t, load, store, most)) {
            double cost = cost_of(t, layout);
            if (least == 0 || cost < least) {
                least = cost;
                best = *t;
            }
        }
    }
    *t = best;
    return least > 0;
}
