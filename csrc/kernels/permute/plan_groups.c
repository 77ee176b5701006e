/*
 * permute: groups of short rows for packed.
 *
 * A row of the result has at most PACKED_RUN units in a tile, which is less than a tile has room
 * for. Where many short rows follow each other, as in a stack of small matrices, a tile needs more
 * than one such row: the axis from row to row is divided in two. Example, matrices of 35 units:
 *
 *     stack of 9600           9600 x 35, in tiles of up to 117 x 35 units
 *     groups of 96            100 x 96 x 35, in tiles of 12 rows of 96 x 35
 *
 * Rows of the result should be whole vectors. If no such number of matrices divides all, groups may
 * leave the last matrices out, which have a plan and a launch of their own then.
 */
#include "permute/plan_tiling.h"

enum { LEAST = 8 /* rows of a group */, FEW = 16 /* groups: of fewer, no rows are left out */ };

/* The axis from one short row to the next, and the units of these; 0: there is none. */
static int axis_of_rows(const permute_layout *layout, int64_t *units)
{
    int d = 0;
    *units = 1;
    while (d < layout->ndim && *units * layout->extent[d] <= PACKED_RUN) {
        *units *= layout->extent[d++];
    }
    return d < layout->ndim ? d : 0;
}

/* The most rows that a group may have; 0: there is no such number. `divides`: it divides all rows;
 * `whole`: what a group has of the result is whole vectors. */
static int64_t find_group(int64_t rows, int64_t units, int unit, bool divides, bool whole)
{
    for (int64_t group = PACKED_RUN / units; group >= LEAST; group--) {
        if ((!divides || rows % group == 0) && (!whole || units * group * unit % VECTOR == 0)) {
            return group;
        }
    }
    return 0;
}

static int64_t choose_group(int64_t rows, int64_t units, int unit, bool all)
{
    const int64_t group = find_group(rows, units, unit, true, true);
    if (all) {
        return group > 0 ? group : find_group(rows, units, unit, true, false);
    }
    return group > 0 ? 0 : find_group(rows, units, unit, false, true);
}

bool permute_divide_rows(const permute_layout *layout, bool all, permute_layout *divided)
{
    int64_t units;
    const int d = axis_of_rows(layout, &units);
    if (d == 0 || layout->ndim == PACKED_DIMS) {
        return false;
    }
    const int64_t rows = layout->extent[d];
    const int64_t group = choose_group(rows, units, layout->unit, all);
    if (group == 0 || group == rows || (!all && rows / group < FEW)) {
        return false;
    }
    /* A single row that is left would be no axis: it has a group beside it then. */
    const int64_t groups = rows / group - (rows % group == 1);
    *divided = *layout;
    for (int i = layout->ndim; i > d; i--) {
        divided->extent[i] = layout->extent[i - 1];
        divided->from[i] = layout->from[i - 1];
        divided->to[i] = layout->to[i - 1];
    }
    divided->ndim++;
    divided->units = layout->units / rows * group * groups;
    divided->extent[d] = group;
    divided->extent[d + 1] = groups;
    divided->from[d + 1] *= group;
    divided->to[d + 1] *= group;
    return true;
}

bool permute_rest_of(const permute_layout *layout, int64_t moved, permute_layout *rest)
{
    int64_t units;
    const int d = axis_of_rows(layout, &units);
    if (moved == layout->units) {
        return false;
    }
    const int64_t others = layout->units / layout->extent[d], rows = moved / others;
    *rest = *layout;
    rest->in += rows * layout->from[d];
    rest->out += rows * layout->to[d];
    rest->extent[d] -= rows;
    rest->units -= moved;
    return true;
}
