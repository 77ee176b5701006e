/*
 * permute: where a tile of packed is in shared memory.
 *
 * Units are in the order in which they are loaded. Spare bytes after each round of an axis keep
 * apart what a warp reads at a time. Where a thread joins several units of one axis to a word, the
 * spare bytes are after each group of so many instead: neighbouring threads are a group apart.
 */
#include "permute/plan_tiling.h"

enum { BANKS = 32, BANK = 4 /* bytes */ };

/* Where the next axis of the load order may begin. Rows that begin anywhere in vectors do so on
 * chip as well, at the same places of these; no two of them share a vector. */
static int64_t begin_axis(const tiling *t, int i, int64_t bytes)
{
    if (t->load_shifted && i >= t->load_run.axes) {
        bytes += i == t->load_run.axes ? 2 * (t->vector - 1) : 0;
        while ((bytes - t->from[t->load[i]]) % t->vector != 0) {
            bytes++;
        }
    }
    return bytes;
}

/* `spare` bytes after each round of axis number `after` of the load order, or, if `group` is more
 * than 1, after each group of so many units of it. */
static permute_places place_axes(const tiling *t, int after, int spare, int group)
{
    permute_places places = {.bytes = t->unit};
    for (int i = 0; i < t->ndim; i++) {
        int d = t->load[i];
        bool grouped = i == after && group > 1;
        places.bytes = begin_axis(t, i, places.bytes);
        places.low[d] = places.bytes;
        while (grouped && 1 << places.bits[d] < group) {
            places.bits[d]++;
        }
        int64_t size = (int64_t)1 << places.bits[d];
        places.high[d] = places.bytes * size + (grouped ? spare : 0);
        places.bytes = places.high[d] * permute_divide_up(t->tile[d], size);
        places.bytes += i == after && !grouped ? spare : 0;
    }
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

static void find_units(const tiling *t, int64_t first, warp *lanes)
{
    for (int lane = 0; lane < BANKS; lane++) {
        int64_t unit = first + (int64_t)lane * t->store_word;
        for (int i = 0; i < t->ndim; i++) {
            int d = t->store[i];
            lanes->unit[lane][d] = (int32_t)(unit % t->tile[d]);
            unit /= t->tile[d];
        }
    }
}

/* Bytes to a unit in shared memory. */
static int64_t place_of(const tiling *t, const permute_places *places, const int32_t *unit)
{
    int64_t at = 0;
    for (int d = 0; d < t->ndim; d++) {
        int64_t group = unit[d] >> places->bits[d];
        at += group * places->high[d] + (unit[d] - (group << places->bits[d])) * places->low[d];
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

permute_places permute_choose_places(const tiling *t, int *passes)
{
    int step = t->unit >= WORD ? t->unit : t->load_shifted ? t->vector : WORD;
    permute_places best = place_axes(t, -1, 0, 1);
    sample sample;
    find_units(t, 0, &sample.first);
    find_units(t, permute_units_of_tile(t) / 2 / t->store_word * t->store_word, &sample.middle);
    int least = cost_of(t, &best, &sample, 2 * BANKS);
    const int64_t most = best.bytes + PACKED_BYTES / 8;
    /* Rows that are loaded in one run stay together. */
    for (int after = t->load_run.axes - 1; after < t->ndim; after++) {
        for (int grouped = 0; grouped < 2; grouped++) {
            int group = grouped ? t->store_word : 1;
            if (grouped ? group == 1 || after < t->load_run.axes : after == t->ndim - 1) {
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
