/*
 * permute: tiles of packed that write whole sectors.
 *
 * A sector of which two tiles write a part takes memory as long as a copy of some 100 bytes (on an
 * H200). So where a row of a tile ends inside of a sector, the tile completes it: it also loads the
 * units that follow, its halo. The next tile begins with the sector behind that. Example, rows of
 * 10 units, sectors of 8:
 *
 *     sectors          |. . . . . . . .|. . . . . . . .|. . . . . . . .|
 *     rows of tiles    |0 0 0 0 0 0 0 0 0 0|1 1 1 1 1 1 1 1 1 1|
 *     written by tile  |0 0 0 0 0 0 0 0|0 0 0 0 0 0 0 0|1 1 1 1 1 1 ...
 *     halo of tile 0                       |^ ^ ^ ^ ^ ^|
 */
#include "permute/plan_tiling.h"

/* The axis along which the row of a tile is a part of one in memory; PACKED_DIMS: none. */
static int partial_axis(const tiling *t)
{
    int64_t run = t->unit;
    int d = 0;
    while (d < t->ndim && t->to[d] == run && t->tile[d] == t->extent[d]) {
        run *= t->tile[d];
        d++;
    }
    return d < t->ndim && t->to[d] == run ? d : PACKED_DIMS;
}

/* On chip, rows of the input are a matrix: its lines are the units of a row of the result, and the
 * halo is more lines behind them. */
static bool is_matrix(const tiling *t, int axis)
{
    int64_t runs = 1, others = 1;
    for (int i = 0; i < t->load_run.axes; i++) {
        if (t->load[i] <= axis) {
            return false;
        }
        runs *= t->tile[t->load[i]];
    }
    for (int d = axis + 1; d < t->ndim; d++) {
        others *= t->tile[d];
    }
    return runs == others;
}

void permute_choose_halo(tiling *t, const permute_layout *layout)
{
    const int axis = partial_axis(t);
    /* Small arrays stay in the L2, which completes sectors itself. */
    if (t->most < PACKED_BYTES || axis == PACKED_DIMS || !is_matrix(t, axis)) {
        return;
    }
    uintptr_t bits = (uintptr_t)layout->out | (uintptr_t)(t->tile[axis] * t->to[axis]);
    for (int d = axis + 1; d < t->ndim; d++) {
        bits |= (uintptr_t)t->to[d];
    }
    const int halo = (int)permute_past_sector(bits) / t->unit;
    const run row = permute_longest_run(t, false, axis + 1);
    const int64_t rows = row.units + halo, columns = permute_units_of_tile(t) / row.units;
    /* The last tile completes the sector of the one before it. */
    if (halo == 0 || row.axes != axis + 1 || row.last < halo || row.units < halo ||
        rows > PACKED_ROWS || rows > PACKED_RUN ||
        rows * columns * t->unit > t->most + t->most / 8) {
        return;
    }
    tiling words = *t;
    words.store_run = row;
    permute_choose_words(&words, layout, true);
    if (words.store_shifted && words.store_run.axes != row.axes) {
        return; /* rows that are stored end elsewhere */
    }
    t->halo = halo;
    t->halo_axis = axis;
    t->store_run = row;
}

void permute_order_halo(tiling *t)
{
    int count = t->load_run.axes;
    if (t->halo == 0) {
        return;
    }
    for (int d = 0; d <= t->halo_axis; d++) {
        t->load[count++] = d;
    }
    for (int d = t->halo_axis + 1; d < t->ndim; d++) {
        bool there = false;
        for (int i = 0; i < t->load_run.axes; i++) {
            there = there || t->load[i] == d;
        }
        if (!there) {
            t->load[count++] = d;
        }
    }
}
