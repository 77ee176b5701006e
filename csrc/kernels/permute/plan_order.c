/*
 * permute: the order of packed's tiles.
 *
 * Tiles follow each other along the result: sectors that two of them write a part of are completed
 * in the L2. Where a row of a tile is a part of one of the input, and does not end with what memory
 * reads at a time, two tiles read its end. If the L2 forgets it before the second one does, it is
 * read from memory twice: so the tiles of such a row come first, unless they are so many that the
 * result's sectors would wait for too long instead. Example, rows of 319 bytes in tiles of 80:
 *
 *     input    |0 0 0 0 0 0 0|1 1 1 1 1 1 1|2 2 2 2 2 2 2|3 3 3 3 3 3|
 *     reads    |. . . .|. . . .|. . . .|. . . .|. . . .|. . . .|. . .    of 64 bytes
 */
#include "permute/plan_tiling.h"

enum {
    READ = 64,            /* bytes that memory reads at a time */
    FORGOTTEN = 16 << 20, /* bytes that are moved between two reads: the L2 may have dropped them */
    LONG = 128            /* bytes of a row: the ends of longer ones are too few to matter */
};

int64_t permute_tiles_along(const tiling *t, int axis)
{
    return permute_divide_up(t->extent[axis], t->tile[axis]);
}

/* The axis along which a row of the input is cut by tiles; -1: none, or it is cut at whole reads.
 */
static int cut_axis(const tiling *t, uintptr_t in)
{
    int64_t row = t->unit;
    uintptr_t begins = in;
    int cut = -1;
    for (int i = 0; i < t->ndim; i++) {
        const int d = t->load[i];
        const bool joins = cut < 0 && t->from[d] == row;
        row *= joins ? t->tile[d] : 1;
        begins |= joins ? 0 : (uintptr_t)t->from[d];
        cut = joins && t->tile[d] < t->extent[d] ? d : cut;
    }
    return (begins | (uintptr_t)row) % READ == 0 || row >= LONG ? -1 : cut;
}

void permute_order_tiles(const tiling *t, uintptr_t in, int *order)
{
    const int cut = cut_axis(t, in);
    const double moved = 2.0 * (double)permute_units_of_tile(t) * t->unit;
    double before = moved, first = moved;
    int count = 0;
    for (int d = 0; d < cut; d++) {
        before *= (double)permute_tiles_along(t, d);
    }
    if (cut > 0) {
        first *= (double)permute_tiles_along(t, cut);
    }
    const bool is_first = cut > 0 && before > FORGOTTEN && first <= FORGOTTEN;
    if (is_first) {
        order[count++] = cut;
    }
    for (int d = 0; d < t->ndim; d++) {
        if (!is_first || d != cut) {
            order[count++] = d;
        }
    }
}
