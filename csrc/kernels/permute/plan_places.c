/*
 * permute: where a tile of packed is in shared memory.
 *
 * Units are in the order in which they are loaded. Spare bytes after each round of an axis keep
 * apart what a warp reads at a time. Where a thread joins several units of one axis to a word, the
 * spare bytes are after each group of so many instead: neighbouring threads are a group apart.
 */
#include "permute/plan_tiling.h"

enum { BANKS = 32, BANK = 4 /* bytes */ };

/* Do all rows begin at the same place of a vector? */
static bool is_uniform(const tiling *t)
{
    for (int i = t->load_run.axes; i < t->ndim; i++) {
        if (t->tile[t->load[i]] > 1 && t->from[t->load[i]] % t->vector != 0) {
            return false;
        }
    }
    return t->split == PACKED_DIMS || (t->from[t->split] << t->split_bits) % t->vector == 0;
}

/* Do all tiles begin with a vector? */
static bool begins_whole(const tiling *t)
{
    int64_t bits = t->begin;
    for (int d = 0; d < t->ndim; d++) {
        bits |= t->tile[d] < t->extent[d] ? t->tile[d] * t->from[d] : 0;
    }
    return bits % t->vector == 0;
}

bool permute_loads_whole(const tiling *t)
{
    return is_uniform(t) && begins_whole(t);
}

/* Where the next row of the input may begin, which is `step` bytes further there. Rows that begin
 * anywhere in vectors do so on chip as well, at the same places of these; no two of them share a
 * vector. */
static int64_t begin_row(const tiling *t, int64_t bytes, int64_t step, bool first)
{
    if (t->load_shifted) {
        const bool uniform = is_uniform(t);
        const int beside = permute_loads_whole(t) ? 0 : t->vector - 1;
        bytes += !first ? 0 : uniform ? beside : 2 * beside;
        while ((bytes - step) % t->vector != 0) {
            bytes++;
        }
    }
    return bytes;
}

/* Bytes to unit c along an axis. */
static int64_t along_axis(const permute_places *places, int d, int64_t c)
{
    const int64_t group = c >> places->bits[d];
    return group * places->high[d] + (c - (group << places->bits[d])) * places->low[d];
}

/* The end of the halo's lines, which follow those of the tile. */
static int64_t end_of_halo(const tiling *t, const permute_places *places)
{
    const int line = t->load[t->load_run.axes]; /* the axis from a line to the next */
    int64_t end = 0;
    for (int k = 0; k < t->halo; k++) {
        int64_t at = places->low[line], rest = k;
        for (int d = 0; d < t->halo_axis; d++) {
            at += along_axis(places, d, rest % t->tile[d]);
            rest /= t->tile[d];
        }
        at += along_axis(places, t->halo_axis, t->tile[t->halo_axis] + rest);
        end = at > end ? at : end;
    }
    return end;
}

/* `spare` bytes after each round of axis number `after` of the load order, or, if `group` is more
 * than 1, after each group of so many units of it. */
static permute_places place_axes(const tiling *t, int after, int spare, int group)
{
    const bool is_split = t->split < PACKED_DIMS;
    permute_places places = {.bytes = t->unit};
    for (int i = 0; i < t->ndim; i++) {
        const int d = t->load[i];
        const bool grouped = i == after && group > 1;
        if (i >= t->load_run.axes) {
            places.bytes =
                begin_row(t, places.bytes, t->from[d], i == t->load_run.axes && !is_split);
        }
        places.low[d] = places.bytes;
        while (grouped && 1 << places.bits[d] < group) {
            places.bits[d]++;
        }
        const int64_t size = (int64_t)1 << places.bits[d];
        places.high[d] = places.bytes * size;
        if (d == t->split) {
            places.high[d] = begin_row(t, places.high[d], t->from[d] * size, true);
        }
        places.high[d] += grouped ? spare : 0;
        places.bytes = places.high[d] * permute_divide_up(t->tile[d], size);
        places.bytes += i == after && !grouped ? spare : 0;
    }
    const int64_t end = end_of_halo(t, &places);
    places.bytes = end > places.bytes ? end : places.bytes;
    return places;
}

/* Which units the lanes of a warp load first: of each axis. */
typedef struct warp {
    int32_t unit[BANKS][PACKED_DIMS];
} warp;

/* Of the first warp, and of one in the middle of the tile. */
typedef struct sample {
    warp first, middle;
} sample;

/* The first unit of a group, along all axes that are not of a row. */
static void place_group(const tiling *t, int64_t group, int32_t *places)
{
    const int64_t groups = permute_groups(t);
    int64_t unit = group % groups * (WORD / t->unit), others = group / groups;
    for (int i = 0; i < t->grouped; i++) {
        places[t->load[i]] = (int32_t)(unit % t->tile[t->load[i]]);
        unit /= t->tile[t->load[i]];
    }
    for (int d = t->store_run.axes; d < t->ndim; d++) {
        if (!permute_is_grouped(t, d)) {
            places[d] = (int32_t)(others % t->tile[d]);
            others /= t->tile[d];
        }
    }
}

/* The unit's place along each of the store's axes from `first` to `end`; of the squared one only
 * every so manyth is there. */
static void place_unit(const tiling *t, int first, int end, int64_t unit, int32_t *places)
{
    for (int d = first; d < end; d++) {
        const int each = d == t->squared ? t->store_word : 1;
        const int64_t groups = permute_divide_up(t->tile[d], each);
        places[d] = (int32_t)(unit % groups * each);
        unit /= groups;
    }
}

/* Lanes go from word to word of a row, and then to the next row: `first` is the first lane's, of
 * all words of rows. */
static void find_units(const tiling *t, int64_t first, warp *lanes)
{
    const run *along = &t->store_run;
    const int64_t words = t->store_shifted ? permute_words_of_row(t, along->units, WORD)
                                           : along->units / t->store_word;
    for (int lane = 0; lane < BANKS; lane++) {
        const int64_t word = first + lane, unit = word % words * t->store_word;
        const int64_t there = unit < along->units ? unit : along->units - 1;
        place_unit(t, 0, along->axes, there, lanes->unit[lane]);
        if (t->grouped > 0) {
            place_group(t, word / words, lanes->unit[lane]);
        } else {
            place_unit(t, along->axes, t->ndim, word / words, lanes->unit[lane]);
        }
    }
}

/* Bytes to a unit in shared memory. */
static int64_t place_of(const tiling *t, const permute_places *places, const int32_t *unit)
{
    int64_t at = 0;
    for (int d = 0; d < t->ndim; d++) {
        at += along_axis(places, d, unit[d]);
    }
    return at;
}

/* Passes that a warp's loads from shared memory take, or `most` if these are more. As many lanes as
 * 128 bytes have units are served at a time. */
static int count_passes(const tiling *t, const permute_places *places, const warp *warp, int most)
{
    int size = t->unit < BANK ? BANK : t->unit, lanes = BANKS * BANK / size, passes = 0;
    for (int lane = 0; lane < BANKS; lane += lanes) {
        int64_t wanted[BANKS][BANKS]; /* different words of each bank */
        int counts[BANKS] = {0};
        for (int k = 0; k < lanes && passes < most; k++) {
            int64_t word = place_of(t, places, warp->unit[lane + k]) / size;
            int bank = (int)(word % lanes), known = 0;
            while (known < counts[bank] && wanted[bank][known] != word) {
                known++;
            }
            if (known == counts[bank]) {
                wanted[bank][counts[bank]++] = word;
            }
            passes = counts[bank] > passes ? counts[bank] : passes;
        }
    }
    return passes;
}

/* Of both warps; `most` if these are more. */
static int cost_of(const tiling *t, const permute_places *places, const sample *sample, int most)
{
    int first = count_passes(t, places, &sample->first, most);
    return first + (first < most ? count_passes(t, places, &sample->middle, most - first) : 0);
}

/* Number `index` of 31 different distances in banks, the likely ones first. */
static int distance(int index)
{
    return index < BANKS / 2 ? 2 * index + 1 : 2 * (index - BANKS / 2 + 1);
}

/* Groups of units of axis number `index` of the load order, behind which there may be spare bytes;
 * 1: none. */
static int group_of(const tiling *t, int index)
{
    return t->load[index] == t->split  ? 1 << t->split_bits
           : index >= t->load_run.axes ? t->store_word
                                       : 1;
}

permute_places permute_choose_places(const tiling *t, int *passes)
{
    const int step = t->load_shifted ? t->vector : t->unit >= WORD ? t->unit : WORD;
    const int outermost = t->load_run.axes - 1, split = t->split < PACKED_DIMS;
    permute_places best = place_axes(t, outermost, 0, split ? group_of(t, outermost) : 1);
    sample sample;
    find_units(t, 0, &sample.first);
    find_units(t, permute_units_of_tile(t) / 2 / t->store_word, &sample.middle);
    int least = cost_of(t, &best, &sample, 2 * BANKS);
    const int64_t most = best.bytes + t->most / 8;
    /* Rows that are loaded in one run stay together; groups of a run that is split, too. */
    for (int after = outermost; after < (split ? outermost + 1 : t->ndim); after++) {
        for (int grouped = split; grouped < 2; grouped++) {
            const int group = grouped ? group_of(t, after) : 1;
            if (grouped ? group == 1 : after == t->ndim - 1) {
                continue;
            }
            for (int i = 0; i < BANKS - 1 && least > 2; i++) {
                permute_places places = place_axes(t, after, distance(i) * step, group);
                if (places.bytes > most) {
                    continue;
                }
                int cost = cost_of(t, &places, &sample, least);
                if (cost < least) {
                    least = cost;
                    best = places;
                }
            }
        }
    }
    *passes = least;
    return best;
}
