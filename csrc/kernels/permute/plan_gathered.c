/* permute: the tiles of gathered_tile.h, whose diagram shows what is named here. */
#include "permute/plan_gathered.h"

#include "backend/backend.h"

enum { VECTOR = 16 /* bytes */ };

uint32_t permute_share_of(int64_t extent, int64_t wanted, int64_t multiple)
{
    const int64_t parts = (extent + wanted / 2) / wanted;
    const int64_t share = permute_divide_up(extent, parts > 0 ? parts : 1);
    return (uint32_t)(permute_divide_up(share, multiple) * multiple);
}

/*
 * With p units from a row of the input to the next and q from one of the output to the next, a
 * column that is d further has its sectors begin d q rows earlier, each p units before the next,
 * and d units further in the row: its places in vectors differ by d (1 - p q) units. The columns'
 * lanes read different words of the banks if that is a quarter of a vector, or three of them.
 */
uint64_t permute_places_differ(int64_t from_row, int64_t to_column, int unit)
{
    return 1 - (uint64_t)(from_row / unit) * (uint64_t)(to_column / unit);
}

uint32_t permute_columns_apart(int64_t from_row, int64_t to_column, int unit)
{
    uint32_t apart = 0;
    while (4 << apart < VECTOR / unit) {
        apart++;
    }
    for (uint64_t d = permute_places_differ(from_row, to_column, unit); apart > 0 && d % 2 == 0;
         d /= 2) {
        apart--;
    }
    return apart;
}

/* In which direction along an axis the next row of the output is, if it follows at once; or 0. */
static int follows(const permute_layout *layout, int axis)
{
    const int64_t row = layout->extent[0] * layout->unit;
    if (axis >= layout->ndim || permute_magnitude(layout->to[axis]) != row || row < GM_SECTOR) {
        return 0;
    }
    return layout->to[axis] > 0 ? 1 : -1;
}

/* Parts of a matrix that are `wide` by `high` bytes, as even as they can be. */
static void cut(const permute_layout *layout, int closest, int64_t wide, int64_t high,
                permute_gathered *shape)
{
    const int64_t unit = layout->unit, alike = GM_SECTOR / unit;
    shape->width = permute_share_of(layout->extent[closest], wide / unit, alike);
    shape->step = permute_share_of(layout->extent[0] + shape->halo, high / unit, alike);
    shape->vectors = permute_divisor_of(shape->width * unit / VECTOR + 1);
}

/* Long runs on both sides: of bytes fewer from a row, as a thread needs 16 of them. Two blocks have
 * room on a multiprocessor, with tables and what the system reserves. */
static void fit(const permute_layout *layout, int closest, const gm_device_properties *device,
                permute_gathered *shape)
{
    enum { WIDE = 320, WIDE_OF_BYTES = 224, NARROW = 128, HIGH = 256, RESERVED = 8 << 10 };
    const size_t room = (size_t)device->shared_per_multiprocessor / 2 - RESERVED;
    int64_t wide = layout->unit == 1 ? WIDE_OF_BYTES : WIDE;
    int64_t high = layout->extent[closest] * layout->unit < NARROW ? 2 * HIGH : HIGH;
    cut(layout, closest, wide, high, shape);
    while (permute_gathered_bytes(shape, layout->unit) > room && high > GM_SECTOR) {
        wide = wide > 2 * GM_SECTOR ? wide - GM_SECTOR : wide;
        high = wide > 2 * GM_SECTOR ? high : high / 2;
        cut(layout, closest, wide, high, shape);
    }
}

permute_gathered permute_plan_gathered(const permute_layout *layout, int closest,
                                       const gm_device_properties *device)
{
    const int64_t unit = layout->unit, rows = layout->extent[0];
    const int next = closest == 1 ? 2 : 1; /* the innermost of the other axes */
    uintptr_t bits = (uintptr_t)layout->out;
    for (int d = 1; d < layout->ndim; d++) {
        bits |= (uintptr_t)layout->to[d];
    }
    permute_gathered shape = {
        .halo = permute_past_sector(bits) / (unsigned)unit,
        .apart = permute_columns_apart(layout->from[0], layout->to[closest], layout->unit),
        .uneven = rows * unit % GM_SECTOR != 0,
    };
    fit(layout, closest, device, &shape);
    if (shape.halo > 0) {
        shape.columns = follows(layout, closest);
        shape.chained = shape.columns == 0 ? follows(layout, next) : 0;
        shape.jump =
            shape.chained * (next < layout->ndim ? layout->from[next] : 0) - rows * layout->from[0];
    }
    return shape;
}

double permute_gathered_time(const permute_layout *layout, int closest)
{
    static const double NARROW = 64 /* bytes */, FULL = 256, OF_BYTES = 0.25, OF_HALVES = 0.4;
    static const double SHARED_BANKS = 0.45; /* of bytes: all four columns of a warp */
    const double row = (double)(layout->extent[closest] * layout->unit);
    const double narrow = row < FULL ? NARROW / row - NARROW / FULL : 0;
    const double sector = row <= GM_SECTOR ? 1 : 0; /* memory moves two at a time */
    if (layout->unit > 1) {
        return OF_HALVES * narrow + sector;
    }
    return OF_BYTES * narrow + sector +
           (permute_places_differ(layout->from[0], layout->to[closest], 1) % VECTOR == 0
                ? SHARED_BANKS
                : 0);
}

size_t permute_gathered_bytes(const permute_gathered *shape, int unit)
{
    const size_t rows = (size_t)shape->step + shape->halo;
    return (rows * shape->vectors.by + rows * (size_t)unit / VECTOR + 1) * VECTOR;
}
