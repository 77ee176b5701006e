/*
 * permute: groups of short rows for packed.
 *
 * A row of the result has at most PACKED_RUN units in a tile, which is less than a tile has room
 * for. Where many short rows follow each other, as in a stack of small matrices, a tile needs more
 * than one such row: the axis from row to row is divided in two. Example, matrices of 35 units:
 *
 *     stack of 9600           9600 x 35, in tiles of up to 117 x 35 units
 *     groups of 96            100 x 96 x 35, in tiles of 12 rows of 96 x 35
 */
#include "permute/plan_tiling.h"

bool permute_divide_rows(const permute_layout *layout, permute_layout *divided)
{
    enum { LEAST = 8 /* units of a group */ };
    int64_t units = 1, best = 0;
    int d = 0;
    while (d < layout->ndim && units * layout->extent[d] <= PACKED_RUN) {
        units *= layout->extent[d++];
    }
    if (d == 0 || d == layout->ndim || layout->ndim == PACKED_DIMS) {
        return false;
    }
    /* The most, of those whose rows are whole vectors if there are any. */
    bool whole = false;
    for (int64_t group = PACKED_RUN / units; group >= LEAST && !whole; group--) {
        if (layout->extent[d] % group == 0) {
            whole = units * group * layout->unit % VECTOR == 0;
            best = whole || best == 0 ? group : best;
        }
    }
    *divided = *layout;
    if (best == 0 || best == layout->extent[d]) {
        return false;
    }
    for (int i = layout->ndim; i > d; i--) {
        divided->extent[i] = layout->extent[i - 1];
        divided->from[i] = layout->from[i - 1];
        divided->to[i] = layout->to[i - 1];
    }
    divided->ndim++;
    divided->extent[d] = best;
    divided->extent[d + 1] /= best;
    divided->from[d + 1] *= best;
    divided->to[d + 1] *= best;
    return true;
}
