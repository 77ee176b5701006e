/* permute: how a tile of packed joins units of 1 or 2 bytes to words, on either side. */
#include "permute/plan_tiling.h"

/* Does everything on a side begin, and end, at multiples of so many bytes? */
static bool is_whole(const tiling *t, bool load, const char *data, int bytes)
{
    const int *order = load ? t->load : t->store;
    const int64_t *stride = load ? t->from : t->to;
    const run *along = load ? &t->load_run : &t->store_run;
    int64_t bits = along->units * t->unit | along->last * t->unit | (int64_t)(uintptr_t)data;
    for (int i = 0; i < t->ndim; i++) {
        int d = order[i];
        /* Where the next row, or the next tile, begins. */
        bits |= i >= along->axes ? stride[d] : i == along->axes - 1 ? t->tile[d] * stride[d] : 0;
    }
    return along->contiguous && bits % bytes == 0;
}

static bool in_words(const tiling *t, bool load, const char *data)
{
    return is_whole(t, load, data, WORD);
}

bool permute_is_near(const tiling *t, const int64_t *stride, int bytes)
{
    double reach = 0;
    for (int d = 0; d < t->ndim; d++) {
        const int64_t beyond = d == t->halo_axis ? t->halo : 0;
        reach += (double)(t->tile[d] - 1 + beyond) * (double)permute_magnitude(stride[d]);
    }
    /* And what vectors have beside it. */
    return reach + GM_SECTOR < (double)INT32_MAX * bytes;
}

uint32_t permute_words_of_row(const tiling *t, int64_t units, int word)
{
    return (uint32_t)((units * t->unit + 2 * (int64_t)(word - 1)) / word);
}

/* Are rows that begin anywhere worth being moved in words? */
static bool shifts(const tiling *t, bool load)
{
    const run *along = load ? &t->load_run : &t->store_run;
    return t->unit < WORD && along->contiguous && along->units * t->unit >= 2 * WORD &&
           permute_is_near(t, load ? t->from : t->to, 1);
}

/* Rows that are not in words are, if they go on further, perhaps. */
static bool lengthen(tiling *t, bool load, const char *data)
{
    run *along = load ? &t->load_run : &t->store_run, before = *along;
    *along = permute_longest_run(t, load, t->ndim);
    if (in_words(t, load, data)) {
        return true;
    }
    *along = before;
    return false;
}

int64_t permute_units_in_groups(const tiling *t)
{
    int64_t units = 1;
    for (int i = 0; i < t->grouped; i++) {
        units *= t->tile[t->load[i]];
    }
    return units;
}

int64_t permute_groups(const tiling *t)
{
    return permute_divide_up(permute_units_in_groups(t) * t->unit, WORD);
}

bool permute_is_grouped(const tiling *t, int axis)
{
    for (int i = 0; i < t->grouped; i++) {
        if (t->load[i] == axis) {
            return true;
        }
    }
    return false;
}

/* Threads that have a group's vector, of all in as many turns as it takes. */
static double busy(const tiling *t, int64_t groups)
{
    const int64_t run = t->store_run.units * t->unit / VECTOR, threads = t->threads;
    const int64_t together = run < threads ? threads / run : 1;
    const int64_t turns = permute_divide_up(groups, together) * permute_divide_up(run, threads);
    return (double)(groups * run) / (double)(turns * threads);
}

/* Are the words of the closest axes, which are not in a row, units that the result has in as many
 * rows of vectors? Words may end beyond the last unit. */
static bool group(tiling *t, const char *data)
{
    enum { MOST_EMPTY = 4 /* one in so many units */ };
    static const double LEAST_BUSY = 0.66;
    tiling grouped = *t;
    grouped.grouped = 0;
    while (grouped.grouped < t->load_run.axes && t->load[grouped.grouped] >= t->store_run.axes) {
        grouped.grouped++;
    }
    const int64_t units = permute_units_in_groups(&grouped);
    const int64_t all = permute_groups(&grouped) * (WORD / t->unit);
    const int64_t others = permute_units_of_tile(t) / t->store_run.units / units;
    if (grouped.grouped == 0 || all - units > all / MOST_EMPTY || others * all > PACKED_ROWS ||
        !is_whole(t, false, data, VECTOR) ||
        busy(t, others * permute_groups(&grouped)) < LEAST_BUSY) {
        return false;
    }
    t->grouped = grouped.grouped;
    return true;
}

/* The same, of rows that end before the closest axis. */
static bool group_shorter(tiling *t, const char *data)
{
    enum { SHORTEST = 64 /* bytes of a row: shorter ones were slower on an H200 */ };
    tiling shorter = *t;
    if (t->halo > 0 || t->load[0] == 0) {
        return false; /* a halo needs rows of all these axes */
    }
    shorter.store_run = permute_longest_run(t, false, t->load[0]);
    if (shorter.store_run.units * t->unit < SHORTEST || !group(&shorter, data)) {
        return false;
    }
    *t = shorter;
    return true;
}

/* Squares: a word of the input is of units that the result has in as many rows. */
static bool squares(const tiling *t, int word)
{
    const int closest = t->load[0];
    bool in_rows = true;
    for (int i = 0; i < t->store_run.axes; i++) {
        in_rows = in_rows && t->store[i] != closest;
    }
    return in_rows && t->tile[closest] % word == 0 && t->extent[closest] % word == 0;
}

/* Squares of rows that begin anywhere, and are as long as they go on without the closest axis. */
static bool square_shifted(tiling *t, int word)
{
    const int shortest = t->unit == 1 ? 16 : 64; /* bytes of a row */
    const int closest = t->load[0];
    tiling squared = *t;
    if (closest == 0 || 2 * t->tile[closest] <= word) {
        return false;
    }
    squared.store_run = permute_longest_run(t, false, closest);
    if (squared.store_run.units * t->unit < shortest || !shifts(&squared, false) ||
        permute_units_of_tile(t) > squared.store_run.units * PACKED_ROWS) {
        return false;
    }
    *t = squared;
    t->store_shifted = true;
    t->squared = closest;
    return true;
}

bool permute_is_chained(const tiling *t)
{
    if (t->squared == PACKED_DIMS) {
        return false;
    }
    for (int d = 0; d < t->store_run.axes; d++) {
        if (t->tile[d] != t->extent[d]) {
            return false;
        }
    }
    return t->store_run.axes == t->squared && t->to[t->squared] > 0;
}

/* Rows that begin anywhere, of so many units, which a block stores at a time. */
static double rows_at_a_time(const tiling *t, int64_t units)
{
    const int64_t words = permute_words_of_row(t, units, WORD),
                  threads = PACKED_FRESH((int64_t)t->threads);
    const int64_t together = threads / words;
    return together > 0 ? (double)together : 1 / (double)permute_divide_up(words, threads);
}

int64_t permute_units_behind(const tiling *t)
{
    const int64_t units = t->store_run.units, rest = (GM_SECTOR - 1) / t->unit;
    if (!t->store_shifted || !permute_is_chained(t)) {
        return t->halo;
    }
    const bool completes =
        units * t->unit >= GM_SECTOR && rows_at_a_time(t, units + rest) == rows_at_a_time(t, units);
    return completes ? rest : 0;
}

void permute_choose_words(tiling *t, const permute_layout *layout, bool in_groups)
{
    const int word = t->unit < WORD ? WORD / t->unit : 1;
    const bool store = in_words(t, false, layout->out) || lengthen(t, false, layout->out);
    const bool load = in_words(t, true, layout->in);
    t->load_word = load ? word : 1;
    t->load_shifted = !load && shifts(t, true);
    t->vector = WORD;
    t->split = PACKED_DIMS;
    t->begin = (uintptr_t)layout->in % GM_SECTOR;
    t->store_shifted = false;
    t->squared = PACKED_DIMS;
    t->grouped = 0;
    /* Halves that are not at words take as many loads either way. */
    const bool may = in_groups && word > 1 && store && (load || t->unit == 1);
    const bool grouped = may && (group(t, layout->out) || group_shorter(t, layout->out));
    if (!grouped && word > 1 && load && store && squares(t, word)) {
        t->squared = t->load[0];
    } else if (word > 1 && !store && !square_shifted(t, word)) {
        t->store_shifted = shifts(t, false);
    }
    t->store_word = t->grouped > 0 ? VECTOR / t->unit : store || t->store_shifted ? word : 1;
}
