/*
 * permute: the tiles of packed.
 *
 * What is planned depends on the layout and the device alone, and is kept for a few of them by
 * plan_kept.c. Which units a tile has: plan_extents.c; axes in groups: plan_groups.c; tiles in
 * order: plan_order.c; how units are joined to words: plan_words.c; where they are in shared
 * memory: plan_places.c.
 */
#include "permute/plan_packed.h"

#include <math.h>
#include <string.h>

#include "permute/plan_tiling.h"

/* Passes of two warps. Threads that shuffle words have other things to do meanwhile. */
enum { FEW_OF_FLOATS = 8, FEW_OF_SHUFFLED = 8, FEW = 6, FEW_OF_SQUARES = 4 };

/* ---- arguments ------------------------------------------------------------------------------ */

/* Vectors that lanes have of a row: whole sectors of the input, so that no two warps ask for one.
 */
static uint32_t vectors_of_row(const tiling *t, int64_t units)
{
    const uint32_t run = permute_loads_whole(t)
                             ? (uint32_t)permute_divide_up(units * t->unit, t->vector)
                             : permute_words_of_row(t, units, t->vector);
    return 2 * t->vector == GM_SECTOR ? run + run % 2 : run;
}

static void fill_side(const tiling *t, bool load, permute_packed_side *side)
{
    const int *order = load ? t->load : t->store;
    const int64_t *stride = load ? t->from : t->to;
    const run *along = load ? &t->load_run : &t->store_run;
    int word = load ? t->load_word : t->store_word;
    side->units = (uint32_t)along->units;
    side->word = (uint8_t)(word * t->unit);
    while (1 << side->word_bits < side->word) {
        side->word_bits++;
    }
    side->last = (uint32_t)(along->last / word);
    const int64_t beyond = load ? 0 : permute_units_behind(t);
    const int grouped = load ? 0 : t->grouped;
    side->run = (uint32_t)((along->units + beyond) / word);
    side->rows = (uint32_t)(permute_units_of_tile(t) / along->units + (load ? t->halo : 0));
    side->shifted = load ? t->load_shifted : t->store_shifted;
    if (side->shifted) {
        side->last = (uint32_t)along->last;
        side->word = (uint8_t)(load ? t->vector : WORD);
        side->run = load ? vectors_of_row(t, along->units + beyond)
                         : permute_words_of_row(t, along->units + beyond, side->word);
        side->word_bits = 0; /* rows begin at bytes */
    }
    const bool overlapped = side->shifted && !load;
    const uint32_t threads = (uint32_t)(overlapped ? PACKED_FRESH(t->threads) : t->threads);
    side->together = side->run < threads ? threads / side->run : 1;
    side->step = along->contiguous ? 1 : (int32_t)(stride[order[0]] / t->unit);
    side->first = (uint8_t)along->axes;
    for (int i = 0; i < along->axes; i++) {
        side->order[side->count++] = (uint8_t)order[i];
    }
    for (int i = 0; i < grouped; i++) {
        side->order[side->count++] = (uint8_t)t->load[i];
    }
    for (int i = along->axes; i < t->ndim; i++) {
        const bool ends = load && order[i] == t->halo_axis;
        if ((t->tile[order[i]] > 1 || ends) && (load || !permute_is_grouped(t, order[i]))) {
            side->order[side->count++] = (uint8_t)order[i];
        }
    }
}

/* A row of the input is a group of units of its outermost axis. The last group of a tile may go on
 * beyond it, with what is there in memory. */
static void fill_split(const tiling *t, permute_packed_args *args)
{
    permute_packed_side *side = &args->load;
    const int d = t->split;
    args->split = (uint8_t)d;
    if (d < PACKED_DIMS) {
        const int64_t groups = permute_divide_up(t->tile[d], (int64_t)1 << t->split_bits);
        args->splits = permute_divisor_of(groups);
        side->rows = side->rows * (uint32_t)groups;
        side->units = side->units / (uint32_t)t->tile[d] << t->split_bits;
        side->last = side->units;
        side->run = vectors_of_row(t, side->units);
        side->together = side->run < args->threads ? args->threads / side->run : 1;
        side->first--;
    }
}

/* Which axes have a shorter last tile. */
static void fill_ragged(const tiling *t, permute_packed_args *args)
{
    for (int d = 0; d < t->ndim; d++) {
        const bool ends = d == t->halo_axis; /* without one */
        if (t->extent[d] % t->tile[d] == 0 && !ends) {
            continue;
        }
        uint32_t bit = 1u << args->ragged;
        args->load.last_bit |= t->load[t->load_run.axes - 1] == d ? bit : 0;
        args->store.last_bit |= t->store[t->store_run.axes - 1] == d ? bit : 0;
        args->axis[d].ragged = bit;
        args->axis[d].last = (uint32_t)((t->extent[d] - 1) % t->tile[d] + 1);
        args->ragged++;
    }
}

/* Is anything that begins a row of units along the squared axis, or those in groups, not at a word,
 * on chip? */
static bool unaligned(const tiling *t, const permute_places *places)
{
    int64_t bits = t->load_word == 1;
    for (int d = 0; d < t->ndim; d++) {
        const bool within = d == t->squared || permute_is_grouped(t, d);
        bits |= !within && t->tile[d] > 1 ? places->low[d] | places->high[d] : 0;
        bits |= d == t->split ? places->high[d] : 0;
    }
    return bits % WORD != 0;
}

static void fill_groups(const tiling *t, const permute_places *places, permute_packed_args *args)
{
    const int64_t units = permute_units_in_groups(t), all = permute_groups(t) * (WORD / t->unit);
    args->grouped = (uint8_t)t->grouped;
    if (t->grouped > 0) {
        args->group_units = (uint32_t)units;
        args->groups = permute_divisor_of(all);
        args->store.rows = args->store.rows / (uint32_t)units * (uint32_t)all;
        args->unaligned = unaligned(t, places);
        args->clears = args->unaligned || args->ragged > 0;
    }
}

static void fill_squares(const tiling *t, const permute_places *places, permute_packed_args *args)
{
    int d = t->squared;
    args->squared = (uint8_t)d;
    const uint32_t entries =
        args->store.shifted ? args->store.run * (WORD / t->unit) : args->store.units + args->halo;
    args->entries = (entries + PACKED_BATCH - 1) / PACKED_BATCH * PACKED_BATCH;
    if (d < PACKED_DIMS) {
        const int64_t groups = permute_divide_up(t->tile[d], t->store_word);
        args->squares = permute_divisor_of(groups);
        args->square_step = (int32_t)(t->to[d] >> args->store.word_bits);
        args->store.rows = args->store.rows / (uint32_t)t->tile[d] * (uint32_t)groups;
        args->chained = args->store.shifted && permute_is_chained(t);
        args->completes = args->chained && permute_units_behind(t) > 0;
        args->unaligned = unaligned(t, places);
    }
}

/* Where a tile is in the input's memory. */
static void fill_reach(const tiling *t, permute_packed_args *args)
{
    args->reach_behind = t->unit;
    for (int d = 0; d < t->ndim; d++) {
        const int64_t group = d == t->split ? (int64_t)1 << t->split_bits : 1;
        const int64_t beyond = d == t->halo_axis ? t->halo : 0;
        const int64_t units = permute_divide_up(t->tile[d], group) * group + beyond;
        const int64_t reach = (units - 1) * t->from[d];
        *(reach < 0 ? &args->reach_before : &args->reach_behind) += reach;
    }
}

/* A side has few rows, but long ones: a thread has several words of a row in flight. Rows that a
 * thread has at once: `each`. */
static void make_room(permute_packed_side *side, uint32_t threads, uint32_t each)
{
    const uint32_t batch = side->together * PACKED_BATCH * each;
    side->along = side->run > threads && side->rows < PACKED_BATCH && !side->shifted && each == 1;
    side->room = (side->rows + batch - 1) / batch * batch;
}

static bool fill(const tiling *t, const permute_layout *layout, permute_places places,
                 permute_packed_args *args)
{
    int64_t tiles = 1;
    args->threads = (uint16_t)t->threads;
    args->blocks = t->threads == PACKED_THREADS ? PACKED_BLOCKS : PACKED_FEW_BLOCKS;
    args->unit = (uint8_t)t->unit;
    args->ndim = (uint8_t)t->ndim;
    /* Shifted tiles begin and end inside of vectors; words are read that begin with the last unit.
     */
    const int64_t beside = (t->load_shifted ? 2 * t->vector : 0) + 4 * WORD;
    args->buffer = (uint32_t)permute_divide_up(places.bytes + beside, 16) * 16;
    int order[PACKED_DIMS];
    permute_order_tiles(t, (uintptr_t)layout->in, order);
    for (int i = 0; i < t->ndim; i++) {
        const int d = order[i];
        const int64_t along = permute_tiles_along(t, d);
        if (along > INT32_MAX || tiles > INT32_MAX / along) {
            return false;
        }
        args->axis[d] = (permute_packed_axis){
            .inner = permute_divisor_of(tiles),
            .from = t->from[d],
            .to = t->to[d],
            .tile = permute_divisor_of(t->tile[d]),
            .tiles = permute_divisor_of(along),
            .last = (uint32_t)t->tile[d],
            .low = (uint32_t)places.low[d],
            .high = (uint32_t)places.high[d],
            .bits = (uint32_t)places.bits[d],
        };
        tiles *= along;
    }
    args->tiles = (uint32_t)tiles;
    args->halo = (uint8_t)t->halo;
    args->halo_axis = (uint8_t)t->halo_axis;
    fill_side(t, true, &args->load);
    fill_split(t, args);
    fill_side(t, false, &args->store);
    fill_ragged(t, args);
    fill_squares(t, &places, args);
    fill_groups(t, &places, args);
    fill_reach(t, args);
    make_room(&args->load, args->threads, 1);
    make_room(&args->store, args->threads, t->grouped > 0 ? WORD / (uint32_t)t->unit : 1);
    args->store.along = args->store.along && t->squared == PACKED_DIMS;
    return true;
}

/* Rows in vectors of 16 or 8 bytes, if these have room, and at most so many conflicts, or no more.
 */
static permute_places place_vectors(tiling *t, int *passes)
{
    const int64_t most = t->most * 5 / 4;
    const permute_places narrow = permute_choose_places(t, passes);
    const bool words =
        t->load_shifted || ((t->load_word > 1 || t->unit == WORD) && t->load_run.contiguous &&
                            permute_is_near(t, t->from, 1));
    for (int vector = PACKED_VECTOR; words && vector > WORD; vector /= 2) {
        tiling wide = *t;
        int others;
        wide.load_shifted = true;
        wide.vector = vector;
        if (t->load_run.units * t->unit < 2 * (int64_t)vector) {
            continue;
        }
        const bool shuffled = t->squared < PACKED_DIMS && t->store_shifted;
        const int few = t->unit == WORD ? FEW_OF_FLOATS
                        : shuffled      ? FEW_OF_SHUFFLED
                                        : FEW_OF_SQUARES;
        const permute_places places = permute_choose_places(&wide, &others);
        if (places.bytes <= most && others <= (*passes < few ? few : *passes)) {
            *t = wide;
            *passes = others;
            return places;
        }
    }
    return narrow;
}

/* A run of several axes in groups of units of the outermost one, with spare bytes between them. */
static permute_places split_run(tiling *t, permute_places places, int *least)
{
    enum { SHORT = 64, LONG = 1024 /* bytes of a group */ };
    const int d = t->load[t->load_run.axes - 1];
    const int64_t inner = t->load_run.units / t->tile[d] * t->unit;
    const tiling whole = *t;
    if (!t->load_shifted || t->load_run.axes < 2 || d == t->squared) {
        return places;
    }
    for (int bits = 1; inner << bits <= LONG && 1 << bits < t->tile[d]; bits++) {
        tiling split = whole;
        int passes;
        split.split = d;
        split.split_bits = bits;
        const bool cuts = permute_is_grouped(t, d) && (inner << bits) % WORD != 0;
        if (inner << bits < SHORT || (t->grouped == 0 && 1 << bits < t->store_word) || cuts) {
            continue;
        }
        const permute_places others = permute_choose_places(&split, &passes);
        if (passes <= *least && others.bytes <= t->most * 5 / 4) {
            *least = passes;
            *t = split;
            places = others;
        }
    }
    return places;
}

/* Where a warp would have bank conflicts, rows of the input that were loaded in one run get spare
 * bytes between them. */
static permute_places place_words(tiling *t, const permute_layout *layout, bool in_groups,
                                  int *least)
{
    int passes;
    permute_choose_words(t, layout, in_groups);
    permute_places best = place_vectors(t, least);
    const int few = t->grouped > 0 ? FEW_OF_SQUARES : t->unit == WORD ? FEW_OF_FLOATS : FEW;
    if (*least > few) {
        best = split_run(t, best, least);
    }
    tiling shorter = *t;
    while (*least > few && permute_shorten_run(&shorter)) {
        permute_choose_words(&shorter, layout, in_groups);
        permute_places places = place_vectors(&shorter, &passes);
        if (passes < *least && shorter.load_word >= t->load_word) {
            *least = passes;
            best = places;
            *t = shorter;
        }
    }
    return best;
}

/* Passes through the banks of shared memory for a KiB of small units: of vectors that are loaded,
 * of words that are read, and of the entries of tables for both. `passes` are those of two warps'
 * loads of a word. */
static double passes_of_small(const tiling *t, const permute_places *places, int passes)
{
    const double each = 0.5 * passes;
    const int vector = t->load_shifted ? t->vector : WORD;
    const double load = 8 + 64.0 / vector;
    if (t->grouped > 0) {
        return load + 8 * each * (unaligned(t, places) ? 2 : 1) + 4;
    }
    if (t->squared < PACKED_DIMS) {
        return load + 8 * each + 4 * t->unit;
    }
    return load + 32.0 / t->unit * each + 16;
}

static permute_places choose_places(tiling *t, const permute_layout *layout)
{
    int of_words, of_groups;
    tiling words = *t, groups = *t;
    const permute_places by_words = place_words(&words, layout, false, &of_words);
    if (t->unit < WORD && !words.store_shifted) {
        const permute_places by_groups = place_words(&groups, layout, true, &of_groups);
        if (groups.grouped > 0 && passes_of_small(&groups, &by_groups, of_groups) <
                                      passes_of_small(&words, &by_words, of_words)) {
            *t = groups;
            return by_groups;
        }
    }
    *t = words;
    return by_words;
}

/* The best tile of a layout; one that costs infinitely much if there is none. */
static tiling choose_tile(const permute_layout *layout, int multiprocessors)
{
    enum { LARGE = 512 << 10 /* bytes for each multiprocessor: of all, more than the L2 has */ };
    const bool large = layout->units / multiprocessors > LARGE / layout->unit;
    tiling t = {
        .ndim = layout->ndim,
        .unit = layout->unit,
        .threads = large ? PACKED_THREADS : PACKED_FEW_THREADS,
        .most = large ? PACKED_BYTES : PACKED_FEW_BYTES,
        .halo_axis = PACKED_DIMS,
    };
    for (int d = 0; d < t.ndim; d++) {
        t.extent[d] = layout->extent[d];
        t.from[d] = layout->from[d];
        t.to[d] = layout->to[d];
    }
    if (!permute_choose_extents(&t, layout, multiprocessors)) {
        t.cost = INFINITY;
    }
    return t;
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* Groups that leave some rows out take a launch more: as a share of a copy's time. */
static double launch_of_rest(const permute_layout *layout)
{
    static const double LAUNCH = 5e6; /* bytes that are copied meanwhile */
    return LAUNCH / ((double)layout->units * layout->unit);
}

/* Has what groups of a layout leave a plan, of all of it? */
static bool can_move_rest(const permute_layout *layout, int64_t moved, int multiprocessors)
{
    permute_layout rest;
    permute_packed_plan plan = {0};
    return permute_rest_of(layout, moved, &rest) &&
           permute_make_plan(&rest, multiprocessors, &plan) && plan.moved == rest.units;
}

bool permute_make_plan(const permute_layout *layout, int multiprocessors, permute_packed_plan *plan)
{
    static const double GAIN = 0.03; /* of a copy's time: estimates are no closer */
    tiling t = choose_tile(layout, multiprocessors);
    const bool small = t.cost < INFINITY && permute_units_of_tile(&t) * t.unit < t.most / 2;
    plan->moved = layout->units;
    for (int all = 1; small && all >= 0; all--) {
        permute_layout divided;
        if (!permute_divide_rows(layout, all, &divided)) {
            continue;
        }
        tiling other = choose_tile(&divided, multiprocessors);
        other.cost += all ? 0 : launch_of_rest(layout);
        if (other.cost + GAIN < t.cost &&
            (all || can_move_rest(layout, divided.units, multiprocessors))) {
            t = other;
            plan->moved = divided.units;
        }
    }
    if (t.cost == INFINITY) {
        return false;
    }
    plan->cost = t.cost;
    permute_order_halo(&t);
    const permute_places places = choose_places(&t, layout);
    /* Rows are counted in words, or in bytes: see `shifts`. */
    return places.bytes <= UINT16_MAX && permute_is_near(&t, t.from, t.load_word * t.unit) &&
           permute_is_near(&t, t.to, t.store_word * t.unit) &&
           fill(&t, layout, places, &plan->args);
}
