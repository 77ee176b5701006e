/* permute: how a tile of packed joins units of 1 or 2 bytes to words, on either side. */
#include "permute/plan_tiling.h"

/* Does everything on a side begin, and end, at whole words? */
static bool in_words(const tiling *t, bool load, const char *data)
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
    return along->contiguous && bits % WORD == 0;
}

bool permute_is_near(const tiling *t, const int64_t *stride, int bytes)
{
    double reach = 0;
    for (int d = 0; d < t->ndim; d++) {
        const int64_t beyond = t->halo > 0 && d == t->halo_axis ? t->halo : 0;
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

void permute_choose_words(tiling *t, const permute_layout *layout)
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
    if (word > 1 && load && store && squares(t, word)) {
        t->squared = t->load[0];
    } else if (word > 1 && !store && !square_shifted(t, word)) {
        t->store_shifted = shifts(t, false);
    }
    t->store_word = store || t->store_shifted ? word : 1;
}
