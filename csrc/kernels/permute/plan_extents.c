/*
 * permute: which units a tile of packed has.
 *
 * A tile takes the axes that are closest in the input until a run of them is as long as wanted, and
 * those that are innermost in the result likewise; what room is left is for more rows. Of several
 * lengths wanted on either side the plan takes those for which the memory has least to do.
 */
#include <math.h>
#include <string.h>

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

/* Axes of a side, until a run of them is `goal` units long; at most `most`. Where that is a part of
 * an axis, it ends at a multiple of `whole` bytes. */
static void cover(tiling *t, bool load, int64_t goal, int64_t most, int whole)
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
            int64_t step = 1;
            while (stride[d] == covered * t->unit && step * covered * t->unit % whole != 0) {
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
        if (units > t->most) {
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

/* Units of a tile of so many bytes: small arrays are cut into enough tiles for all multiprocessors.
 */
static int64_t room(const tiling *t, int64_t bytes, int multiprocessors)
{
    int64_t all = t->unit;
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
    const bool whole = t->halo > 0 && t->extent[t->halo_axis] % t->tile[t->halo_axis] == 0;
    return ragged_axes(t) + whole <= PACKED_RAGGED && units / t->load_run.units <= PACKED_ROWS &&
           units / t->store_run.units <= PACKED_ROWS && t->store_run.units <= PACKED_RUN;
}

/* ---- the choice ---------------------------------------------------------------------------- */

/*
 * What a tile takes beyond a copy of as many bytes, as a share of that: fitted to the times of
 * 14,000 tiles of 780 layouts on an H100. The tile that costs least, of the 18 of a layout,
 * took 1.7 % longer than the fastest.
 */

/* The ends of runs. Where runs do not begin and end at sectors, two tiles have a part of one: both
 * read it, or the memory writes it twice, which takes it much longer than other sectors. A halo
 * takes room on chip and is read twice. */
static double cost_of_runs(const tiling *t, bool load, uintptr_t data)
{
    const int *order = load ? t->load : t->store;
    const int64_t *stride = load ? t->from : t->to;
    int64_t run = t->unit;
    uintptr_t begins = data;
    bool whole = true;
    for (int i = 0; i < t->ndim; i++) {
        int d = order[i];
        bool joins = whole && stride[d] == run;
        run *= joins ? t->tile[d] : 1;
        begins |= joins ? 0 : (uintptr_t)stride[d];
        whole = joins && t->tile[d] == t->extent[d];
    }
    /* Bytes of a sector; the next tile's run begins where this one ends. */
    const unsigned shared = permute_past_sector(begins | (uintptr_t)run);
    if (!load && t->halo > 0) {
        return 0.06 + (4 + 0.8 * t->halo * t->unit) / (double)run;
    }
    return (load ? 8 + 0.35 * shared : 4 + 2 * shared) / (double)run;
}

/* Threads that have no word of rows which begin anywhere in the result, for each that has one. */
static double idle(const tiling *words)
{
    const int64_t run = permute_words_of_row(words, words->store_run.units, WORD);
    const int64_t all = words->threads, most = PACKED_FRESH(all);
    const int64_t times = permute_divide_up(run - 1, most), together = run < most ? most / run : 1;
    return (double)(times * most) / (double)(run * together) - 1;
}

/* Units of 1 or 2 bytes that are not moved as words, or not as they lie. */
static double cost_of_words(const tiling *t, const permute_layout *layout)
{
    tiling words = *t;
    if (t->unit >= WORD) {
        return 0;
    }
    permute_choose_words(&words, layout, true);
    double load = words.load_shifted ? 0.1 : words.load_word == 1 ? 0.5 : 0;
    load += words.store_shifted ? 0.03 * idle(&words) : 0;
    if (words.squared < PACKED_DIMS) {
        return load + (words.store_shifted ? (t->unit == 1 ? 0.15 : 0.35) : 0);
    }
    if (words.grouped > 0) {
        return load + (words.load_word == 1 ? 0.05 : 0);
    }
    if (words.store_shifted) { /* the ends of rows are stored unit by unit */
        return load + 0.2 + 12 / (double)(words.store_run.units * t->unit);
    }
    return load + 0.1 + (words.store_word == 1 ? (t->unit == 1 ? 0.7 : 0.35) : 0);
}

/* Both sides, what a block does for each tile, and what the last tiles along axes lack. */
static double cost_of(const tiling *t, const permute_layout *layout)
{
    double full = 1;
    for (int d = 0; d < t->ndim; d++) {
        int64_t tiles = permute_divide_up(t->extent[d], t->tile[d]);
        full *= (double)t->extent[d] / (double)(tiles * t->tile[d]);
    }
    return cost_of_runs(t, true, (uintptr_t)layout->in) +
           cost_of_runs(t, false, (uintptr_t)layout->out) + cost_of_words(t, layout) +
           450.0 / (double)(permute_units_of_tile(t) * t->unit) + 0.5 * (1 / full - 1);
}

/* What room is left for other axes, and the runs on both sides; false if there is too little. */
static bool complete(tiling *t, const permute_layout *layout, int64_t most)
{
    if (permute_units_of_tile(t) > most) {
        return false;
    }
    grow(t, most);
    t->load_run = find_run(t, true, t->ndim, ENOUGH);
    t->store_run = find_run(t, false, t->ndim, ENOUGH);
    t->halo = 0;
    t->halo_axis = PACKED_DIMS;
    t->cost = cost_of(t, layout);
    tiling whole = *t;
    permute_choose_halo(&whole, layout);
    if (whole.halo > 0 && fits_tables(&whole)) {
        whole.cost = cost_of(&whole, layout);
        *t = whole.cost < t->cost ? whole : *t;
    }
    return fits_tables(t);
}

run permute_longest_run(const tiling *t, bool load, int axes)
{
    return find_run(t, load, axes, INT64_MAX);
}

bool permute_shorten_run(tiling *t)
{
    tiling shorter = *t;
    if (t->halo > 0) {
        return false; /* it needs rows of all these axes */
    }
    shorter.load_run = find_run(t, true, t->load_run.axes - 1, ENOUGH);
    if (shorter.load_run.units * t->unit < GM_SECTOR || !fits_tables(&shorter)) {
        return false;
    }
    *t = shorter;
    return true;
}

/* Are these extents of a tile others than the ones kept last? Keeps them. */
static bool keep(const tiling *t, int64_t *kept)
{
    bool others = false;
    for (int d = 0; d < t->ndim; d++) {
        others = others || kept[d] != t->tile[d];
        kept[d] = t->tile[d];
    }
    return others;
}

/* The best tile of at most so many units, with runs that end at multiples of `whole` bytes; `best`
 * if that is better. Short axes are covered by any of several lengths: that is one tile. */
static void try_tiles(tiling *t, const permute_layout *layout, int64_t most, int whole,
                      tiling *best)
{
    static const int bytes[] = {1, 32, 64, 96, 128, 192, 256, 384, 512, 960, 1024, 2048, 4096};
    enum { COUNT = sizeof bytes / sizeof *bytes };
    int64_t loaded[PACKED_DIMS] = {0};
    for (int i = 0; i < COUNT; i++) {
        int64_t both[PACKED_DIMS] = {0};
        for (int d = 0; d < t->ndim; d++) {
            t->tile[d] = 1;
        }
        cover(t, true, permute_divide_up(bytes[i], t->unit), most, whole);
        if (!keep(t, loaded)) {
            continue;
        }
        for (int k = 0; k < COUNT; k++) {
            memcpy(t->tile, loaded, sizeof loaded);
            cover(t, false, permute_divide_up(bytes[k], t->unit), PACKED_RUN, whole);
            if (keep(t, both) && complete(t, layout, most)) {
                *best = t->cost < best->cost ? *t : *best;
            }
        }
    }
}

bool permute_choose_extents(tiling *t, const permute_layout *layout, int multiprocessors)
{
    const int sizes[] = {t->most, t->most / 3 * 2};
    sort_axes(t);
    tiling best = *t;
    best.cost = INFINITY;
    for (int i = 0; i < 2; i++) {
        const int64_t most = room(t, sizes[i], multiprocessors);
        try_tiles(t, layout, most, GM_SECTOR, &best);
        if (t->unit < WORD) {
            try_tiles(t, layout, most, WORD, &best);
        }
    }
    /* Tiles of short rows have more of these than there is room for in the tables. */
    for (int64_t most = LEAST_BYTES / 2; most >= t->unit && best.cost == INFINITY; most /= 2) {
        try_tiles(t, layout, most / t->unit, t->unit, &best);
    }
    *t = best;
    return best.cost < INFINITY;
}
