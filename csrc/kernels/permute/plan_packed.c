/*
 * permute: the tiles of packed.
 *
 * A tile takes the axes that are closest in the input until these are `goal` units long, and those
 * that are innermost in the result likewise. The longest goal whose tile fits on chip is taken.
 * What is planned depends on the layout alone, and is kept for a few of them.
 */
#include "permute/plan_packed.h"

#include <string.h>

enum { WORD = 4 /* bytes that small units are joined to */ };

typedef struct tiling {
    int ndim;
    int64_t extent[PACKED_DIMS], from[PACKED_DIMS], to[PACKED_DIMS];
    int64_t tile[PACKED_DIMS];
    int load[PACKED_DIMS], store[PACKED_DIMS]; /* all axes, the closest first */
    int unit, load_word, store_word;
} tiling;

/* ---- extents of a tile ---------------------------------------------------------------------- */

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

/* So many of `extent` that all tiles have about as many, in steps of a sector where there is more
 * than one. */
static int64_t even_share(int64_t extent, int64_t most, int unit)
{
    int64_t step = GM_SECTOR / unit;
    int64_t share = permute_divide_up(extent, permute_divide_up(extent, most));
    int64_t whole = permute_divide_up(share, step) * step;
    return whole < extent ? whole : extent;
}

static void cover(tiling *t, const int *order, int64_t goal)
{
    int64_t covered = 1;
    for (int i = 0; i < t->ndim && covered < goal; i++) {
        int d = order[i];
        int64_t wanted = permute_divide_up(goal, covered);
        int64_t share = t->extent[d] <= wanted + wanted / 2
                            ? t->extent[d]
                            : even_share(t->extent[d], wanted, t->unit);
        t->tile[d] = share > t->tile[d] ? share : t->tile[d];
        covered *= t->tile[d];
    }
}

static int64_t units_of_tile(const tiling *t)
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

/* Units that a block has room for. */
static int64_t room(const tiling *t)
{
    int word = t->load_word < t->store_word ? t->load_word : t->store_word;
    int64_t words = (int64_t)PACKED_THREADS * PACKED_ITEMS * word, most = PACKED_BYTES / t->unit;
    return words < most ? words : most;
}

static int ragged_axes(const tiling *t)
{
    int count = 0;
    for (int d = 0; d < t->ndim; d++) {
        count += t->extent[d] % t->tile[d] != 0;
    }
    return count;
}

static bool choose_tile(tiling *t)
{
    int64_t most = room(t);
    for (int64_t goal = most; goal > 0;
         goal = goal & (goal - 1) ? goal & (goal - 1) : goal / 2 + goal / 4) {
        for (int d = 0; d < t->ndim; d++) {
            t->tile[d] = 1;
        }
        cover(t, t->load, goal);
        cover(t, t->store, goal);
        if (units_of_tile(t) <= most && ragged_axes(t) <= PACKED_RAGGED) {
            return true;
        }
    }
    return false;
}

/* ---- words --------------------------------------------------------------------------------- */

/* Units that are contiguous on a side, from the closest one of a tile on: `all` of the array and
 * `last` of the last tile. Runs end behind the first axis of which a tile has a part. */
static int64_t find_run(const tiling *t, const int *order, const int64_t *stride, int64_t *last)
{
    int64_t run = 1;
    *last = 1;
    for (int i = 0; i < t->ndim; i++) {
        int d = order[i];
        if (stride[d] != run * t->unit) {
            break;
        }
        *last = run * ((t->extent[d] - 1) % t->tile[d] + 1);
        run *= t->tile[d];
        if (t->tile[d] != t->extent[d]) {
            break;
        }
    }
    return run;
}

/* Does everything on a side begin, and end, at whole words? */
static bool in_words(const tiling *t, const int *order, const int64_t *stride, const char *data)
{
    int64_t last, run = find_run(t, order, stride, &last), inner = 1;
    if ((run * t->unit | last * t->unit | (int64_t)(uintptr_t)data) % WORD != 0) {
        return false;
    }
    for (int i = 0; i < t->ndim; i++) {
        int d = order[i];
        bool outside = inner >= run; /* of the run: a step along it goes to another one */
        if (outside && stride[d] % WORD != 0) {
            return false;
        }
        if (!outside && inner * t->tile[d] >= run && t->tile[d] * stride[d] % WORD != 0) {
            return false; /* where the next tile begins */
        }
        inner *= t->tile[d];
    }
    return true;
}

/* Tiles in words of small units, where they have room for more; without words on the sides that do
 * not have them. */
static bool choose_words(tiling *t, const permute_layout *layout)
{
    int word = t->unit < WORD ? WORD / t->unit : 1;
    for (int words = word > 1 ? 3 : 0; words >= 0; words--) { /* bit 0: loads, 1: stores */
        t->load_word = words & 1 ? word : 1;
        t->store_word = words & 2 ? word : 1;
        if (choose_tile(t) && (!(words & 1) || in_words(t, t->load, t->from, layout->in)) &&
            (!(words & 2) || in_words(t, t->store, t->to, layout->out))) {
            return true;
        }
    }
    return false;
}

/* Are all places of a tile within 32 bits, counted in words? */
static bool is_near(const tiling *t, const int64_t *stride)
{
    double reach = 0;
    for (int d = 0; d < t->ndim; d++) {
        reach += (double)(t->tile[d] - 1) * (double)permute_magnitude(stride[d]);
    }
    return reach < (double)INT32_MAX * t->unit;
}

/* ---- shared memory ------------------------------------------------------------------------- */

/* Bytes from a unit to the next along each axis, in load order, with `spare` bytes after each round
 * of axis number `after` of that order; all bytes. */
static int64_t place_axes(const tiling *t, int after, int spare, int64_t *pitch)
{
    int64_t bytes = t->unit;
    for (int i = 0; i < t->ndim; i++) {
        pitch[t->load[i]] = bytes;
        bytes *= t->tile[t->load[i]];
        bytes += i == after ? spare : 0;
    }
    return bytes;
}

static int64_t place_of(const tiling *t, const int *order, const int64_t *pitch, int64_t unit)
{
    int64_t at = 0;
    for (int i = 0; i < t->ndim; i++) {
        int64_t tile = t->tile[order[i]];
        at += unit % tile * pitch[order[i]];
        unit /= tile;
    }
    return at;
}

/* Passes that a warp's access takes, which begins with unit `first` of an order and has one in
 * every `step`. As many lanes as 128 bytes have units are served at a time. */
static int passes(const tiling *t, const int *order, const int64_t *pitch, int64_t first, int step)
{
    enum { BANKS = 32 };
    int size = t->unit < WORD ? WORD : t->unit, lanes = BANKS * WORD / size, most = 0;
    for (int lane = 0; lane < 32; lane += lanes) {
        int64_t words[BANKS];
        int counts[BANKS] = {0};
        for (int k = 0; k < lanes; k++) {
            words[k] = place_of(t, order, pitch, first + (int64_t)(lane + k) * step) / size;
            bool again = false;
            for (int j = 0; j < k && !again; j++) {
                again = words[j] == words[k];
            }
            int bank = (int)(words[k] % lanes);
            counts[bank] += !again;
            most = counts[bank] > most ? counts[bank] : most;
        }
    }
    return most;
}

/* The axis after which a few spare bytes avoid most conflicts, and how many bytes. */
static void choose_pitches(const tiling *t, int64_t *pitch)
{
    int step = t->unit < WORD ? WORD : t->unit, best = 0;
    int64_t units = units_of_tile(t), chosen[PACKED_DIMS];
    for (int after = -1; after < t->ndim - 1; after++) {
        for (int spare = after < 0 ? 0 : step; spare <= (after < 0 ? 0 : 8 * step);
             spare += spare < 2 * step ? step : 2 * step) {
            int64_t bytes = place_axes(t, after, spare, chosen);
            /* Words that are loaded together stay together. */
            bool whole = t->load_word == 1 || after < 0 ||
                         (chosen[t->load[after]] * t->tile[t->load[after]]) % WORD == 0;
            if (bytes > PACKED_ROOM || !whole) {
                continue;
            }
            int cost = passes(t, t->load, chosen, 0, t->load_word);
            for (int part = 0; part < 2; part++) {
                int64_t first = units / 2 / t->store_word * t->store_word * part;
                cost += t->store_word * passes(t, t->store, chosen, first, t->store_word);
            }
            if (best == 0 || cost < best) {
                best = cost;
                memcpy(pitch, chosen, sizeof chosen);
            }
        }
    }
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* Units of a tile between neighbours along an axis, in an order. */
static int64_t units_between(const tiling *t, const int *order, int axis)
{
    int64_t units = 1;
    for (int i = 0; order[i] != axis; i++) {
        units *= t->tile[order[i]];
    }
    return units;
}

static bool fill(const tiling *t, permute_packed_args *args)
{
    int64_t pitch[PACKED_DIMS], tiles = 1;
    choose_pitches(t, pitch);
    args->unit = (uint8_t)t->unit;
    args->load_word = (uint8_t)t->load_word;
    args->store_word = (uint8_t)t->store_word;
    args->ndim = (uint8_t)t->ndim;
    args->units = (uint32_t)units_of_tile(t);
    for (int d = 0; d < t->ndim; d++) {
        int64_t along = permute_divide_up(t->extent[d], t->tile[d]);
        if (along > INT32_MAX || tiles > INT32_MAX / along) {
            return false;
        }
        tiles *= along;
        args->axis[d] = (permute_packed_axis){
            .from = t->from[d],
            .to = t->to[d],
            .tile = permute_divisor_of(t->tile[d]),
            .tiles = permute_divisor_of(along),
            .pitch = (uint32_t)pitch[d],
        };
        if (t->extent[d] % t->tile[d] != 0) {
            args->rag[args->ragged++] = (permute_packed_ragged){
                .axis = (uint32_t)d,
                .last = (uint32_t)(t->extent[d] % t->tile[d]),
                .load = permute_divisor_of(units_between(t, t->load, d)),
                .store = permute_divisor_of(units_between(t, t->store, d)),
            };
        }
        if (t->tile[t->load[d]] > 1) {
            args->load_order[args->loads++] = (uint8_t)t->load[d];
        }
        if (t->tile[t->store[d]] > 1) {
            args->store_order[args->stores++] = (uint8_t)t->store[d];
        }
    }
    args->tiles = (uint32_t)tiles;
    return true;
}

static bool plan(const permute_layout *layout, permute_packed_args *args)
{
    tiling t = {.ndim = layout->ndim, .unit = layout->unit};
    for (int d = 0; d < t.ndim; d++) {
        t.extent[d] = layout->extent[d];
        t.from[d] = layout->from[d];
        t.to[d] = layout->to[d];
    }
    sort_axes(&t);
    return choose_words(&t, layout) && is_near(&t, t.from) && is_near(&t, t.to) && fill(&t, args);
}

/* ---- kept plans ------------------------------------------------------------------------------ */

enum { KEPT = 16 };

/* What a plan depends on: addresses only by where they are within a word. */
typedef struct plan_key {
    int unit, ndim, in, out;
    int64_t extent[PACKED_DIMS], from[PACKED_DIMS];
} plan_key;

typedef struct kept_plan {
    plan_key key;
    bool found;
    permute_packed_args args;
} kept_plan;

static plan_key key_of(const permute_layout *layout)
{
    plan_key key;
    memset(&key, 0, sizeof key); /* compared byte by byte */
    key.unit = layout->unit;
    key.ndim = layout->ndim;
    key.in = (int)((uintptr_t)layout->in % WORD);
    key.out = (int)((uintptr_t)layout->out % WORD);
    for (int d = 0; d < layout->ndim; d++) {
        key.extent[d] = layout->extent[d];
        key.from[d] = layout->from[d];
    }
    return key;
}

static unsigned slot_of(const plan_key *key)
{
    uint64_t hash = (uint64_t)key->unit;
    for (int d = 0; d < key->ndim; d++) {
        hash = (hash ^ (uint64_t)key->extent[d]) * 0x9e3779b97f4a7c15u;
        hash = (hash ^ (uint64_t)key->from[d]) * 0x9e3779b97f4a7c15u;
    }
    return (unsigned)(hash >> 60) % KEPT;
}

bool permute_plan_packed(const permute_layout *layout, permute_packed_args *args)
{
    static _Thread_local kept_plan kept[KEPT];
    if (layout->ndim > PACKED_DIMS) {
        return false;
    }
    plan_key key = key_of(layout);
    kept_plan *slot = &kept[slot_of(&key)];
    if (memcmp(&slot->key, &key, sizeof key) != 0) {
        slot->args = (permute_packed_args){0};
        slot->found = plan(layout, &slot->args);
        slot->key = key;
    }
    *args = slot->args;
    args->in = layout->in;
    args->out = layout->out;
    return slot->found;
}

int64_t permute_packed_run(const permute_packed_args *args)
{
    int64_t shortest = INT64_MAX;
    for (int side = 0; side < 2; side++) {
        const uint8_t *order = side ? args->store_order : args->load_order;
        int count = side ? args->stores : args->loads;
        int64_t run = args->unit;
        for (int i = 0; i < count; i++) {
            const permute_packed_axis *axis = &args->axis[order[i]];
            if ((side ? axis->to : permute_magnitude(axis->from)) != run) {
                break;
            }
            run *= axis->tile.by;
        }
        shortest = run < shortest ? run : shortest;
    }
    return shortest;
}
