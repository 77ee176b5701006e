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
        reach += (double)(t->tile[d] - 1) * (double)permute_magnitude(stride[d]);
    }
    return reach < (double)INT32_MAX * bytes;
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
    *along = permute_longest_run(t, load);
    if (in_words(t, load, data)) {
        return true;
    }
    *along = before;
    return false;
}

void permute_choose_words(tiling *t, const permute_layout *layout)
{
    int word = t->unit < WORD ? WORD / t->unit : 1;
    bool store = in_words(t, false, layout->out) || lengthen(t, false, layout->out);
    bool load = in_words(t, true, layout->in);
    t->load_shifted = !load && shifts(t, true);
    t->store_shifted = !store && shifts(t, false);
    t->load_word = load ? word : 1;
    t->store_word = store || t->store_shifted ? word : 1;
    /* Squares: a word of the input is of units that the result has in as many rows. */
    int closest = t->load[0];
    bool in_rows = true;
    for (int i = 0; i < t->store_run.axes; i++) {
        in_rows = in_rows && t->store[i] != closest;
    }
    bool squares = word > 1 && load && store && in_rows && t->tile[closest] % word == 0 &&
                   t->extent[closest] % word == 0;
    t->squared = squares ? closest : PACKED_DIMS;
}
