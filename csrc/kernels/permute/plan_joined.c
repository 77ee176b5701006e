/* permute: the tiles of joined_tile.h, whose diagram shows what is named here. */
#include "permute/plan_joined.h"

#include <math.h>

#include "backend/backend.h"
#include "permute/plan_banks.h"
#include "permute/plan_gathered.h"
#include "permute/plan_grid.h"
#include "permute/plan_matrices.h"

#define GM_FAMILY permute
#define GM_LADDER "permute/ladder.def"
#include "rows.h"

enum {
    VECTOR = 16,    /* bytes */
    MOST = 1 << 30, /* rows, and columns: threads divide numbers of 32 bits */
    LONGEST = 64,   /* units that stay together */
    LONG = 1024,    /* bytes: see enough_columns */
    FEW_BYTES = 48,
    FEW_HALVES = 100
};

/* ---- joining axes ---------------------------------------------------------------------------- */

/* What is left of a layout: axis 0 has all rows, `closest` all columns, and lines so many rows. */
typedef struct joined {
    permute_layout layout;
    int closest;
    int64_t run;
    permute_joined_side line, col;
    int64_t col_from[JOINED_DIMS];
} joined;

static void begin_side(permute_joined_side *side, int64_t extent, int64_t stride)
{
    side->extent[side->ndim] = permute_divisor_of(extent);
    side->stride[side->ndim] = stride;
    side->ndim++;
}

/* The axis of which elements follow each other after so many bytes, in the input or in the result;
 * 0: there is none. */
static int axis_after(const permute_layout *layout, const int64_t *stride, int64_t bytes)
{
    int d = layout->ndim - 1;
    while (d > 0 && stride[d] != bytes) {
        d--;
    }
    return d;
}

/* The axis that goes on where axis `d` ends, after so many bytes; 0: there is none. */
static int next_axis(const joined *j, const permute_joined_side *side, int d, const int64_t *stride,
                     int64_t bytes)
{
    const permute_layout *layout = &j->layout;
    const int next = axis_after(layout, stride, bytes);
    return side->ndim < JOINED_DIMS && next != j->closest && next > 0 &&
                   layout->extent[d] <= MOST / layout->extent[next]
               ? next
               : 0;
}

/* The axis of columns: the one that is closest in the input, or that goes on where runs end which
 * stay together; not positive if there is none. */
static int axis_of_columns(const permute_layout *layout)
{
    const int closest = permute_closest_axis(layout);
    const bool runs = layout->from[0] == layout->unit && layout->to[0] == layout->unit;
    return closest == 0 && runs ? axis_after(layout, layout->from, layout->extent[0] * layout->unit)
                                : closest;
}

/* Axis `next` becomes part of axis `d`. */
static void join(joined *j, int d, int next)
{
    permute_join_axes(&j->layout, d, next);
    j->closest -= j->closest > next;
}

/* The bits of how far apart columns are in the result. */
static uint64_t bits_of_side(const permute_joined_side *col)
{
    uint64_t bits = 0;
    for (int d = 0; d < col->ndim; d++) {
        bits |= (uint64_t)col->stride[d];
    }
    return bits;
}

/* Bytes of columns to which axis `next` is not joined any more. Of units of 1 and 2 bytes, columns
 * that begin differently in sectors take longer. */
static int64_t enough_columns(const joined *j, int next)
{
    const uint64_t bits = bits_of_side(&j->col) | (uint64_t)j->layout.to[next];
    if (bits % GM_SECTOR == 0 || j->layout.unit >= 4) {
        return LONG;
    }
    return j->layout.unit == 1 ? FEW_BYTES : FEW_HALVES;
}

/* An axis that could be in both is in the shorter one; but columns that would begin differently in
 * sectors have it only where they are very few. */
static joined join_axes(const permute_layout *layout)
{
    joined j = {.layout = *layout, .closest = axis_of_columns(layout), .run = 1};
    if (permute_closest_axis(layout) == 0) {
        const int first = axis_after(layout, layout->to, layout->extent[0] * layout->unit);
        j.run = layout->extent[0];
        j.layout.from[0] = layout->from[first];
        begin_side(&j.line, layout->extent[first], layout->from[first]);
        join(&j, 0, first);
    } else {
        begin_side(&j.line, layout->extent[0], layout->from[0]);
    }
    j.col_from[0] = j.layout.from[j.closest];
    begin_side(&j.col, j.layout.extent[j.closest], j.layout.to[j.closest]);
    for (;;) {
        const permute_layout *all = &j.layout;
        const int64_t rows = all->extent[0] * all->unit;
        const int64_t cols = all->extent[j.closest] * j.run * all->unit;
        int row = next_axis(&j, &j.line, 0, all->to, rows);
        int col = next_axis(&j, &j.col, j.closest, all->from, cols);
        const int64_t enough = enough_columns(&j, col);
        if (cols >= enough) {
            col = 0;
        }
        if (row == 0 && col == 0) {
            return j;
        }
        if (row == col && cols < (enough < LONG ? FEW_BYTES : rows)) {
            row = 0;
        }
        if (row > 0) {
            begin_side(&j.line, all->extent[row], all->from[row]);
            join(&j, 0, row);
        } else {
            j.col_from[j.col.ndim] = all->from[col];
            begin_side(&j.col, all->extent[col], all->to[col]);
            join(&j, j.closest, col);
        }
    }
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static uintptr_t bits_of_columns(const joined *j)
{
    uintptr_t bits = (uintptr_t)j->layout.out;
    for (int d = 1; d < j->layout.ndim; d++) {
        bits |= (uintptr_t)j->layout.to[d];
    }
    return bits | (uintptr_t)bits_of_side(&j->col);
}

static int log_of(int64_t unit)
{
    int log = 0;
    while ((int64_t)1 << log < unit) {
        log++;
    }
    return log;
}

static void cut(const joined *j, int64_t wide, int64_t high, permute_joined_args *args)
{
    const int64_t unit = j->layout.unit, alike = GM_SECTOR / unit, pixel = unit * j->run;
    args->width = permute_share_of(args->cols, permute_divide_up(wide, pixel), alike);
    args->step = permute_share_of((int64_t)args->rows + args->halo, high / unit, alike);
    const int64_t vectors = args->width * pixel / VECTOR;
    args->vectors = permute_divisor_of(unit == VECTOR ? vectors | 1 : vectors + 1);
    const size_t rows = args->step + args->halo;
    args->most = (uint32_t)permute_divide_up((int64_t)rows - 1, j->run) + 1;
    enum { LINE = 128, ENTRIES = 16 /* of a table, and a gap */ };
    const size_t tables = ((size_t)args->most + args->width) * sizeof(int64_t) +
                          args->width * sizeof(uint16_t) +
                          ((size_t)alike + rows + rows / ENTRIES + 1) * sizeof(uint32_t);
    args->tables = (uint32_t)((tables + LINE - 1) / LINE * LINE);
}

static permute_tiling tiles_of(const joined *j, const permute_joined_args *args)
{
    return permute_tiling_of(&j->layout, j->closest, args->width, args->step, args->halo);
}

/* Bytes of a tile's lines and columns, and how many blocks have room on a multiprocessor, by the
 * unit: the fastest of a dozen that were measured on an H200. A line of several rows is longer, and
 * so are columns: by these powers of their number, of a tile of so many times the size. */
static const struct {
    int wide, high, blocks;
    double longer, larger;
} SIZES[] = {{224, 256, 3, 0.85, 0.87},
             {256, 256, 3, 0.65, 1},
             {512, 256, 3, 0.5, 1.2},
             {512, 512, 3, 0.5, 1},
             {768, 1024, 2, 0.5, 1}};

static size_t room_of(const gm_device_properties *device, int log)
{
    enum { RESERVED = 2 << 10 };
    return (size_t)device->shared_per_multiprocessor / (size_t)SIZES[log].blocks - RESERVED;
}

/* How many times longer the other side of a tile is where that of the matrix is so many times
 * shorter than the tile's. In large arrays it makes up for that; small ones have few tiles as it
 * is, and bytes and units of 16 bytes were faster by shorter tiles. */
static double longer_side(const joined *j, bool large, double shorter)
{
    enum { TWICE = 2, MOST = 4, SHORTEST = 8 };
    if (large && j->layout.unit > 1 && j->layout.unit < VECTOR) {
        return fmin(fmax(shorter, 1), MOST);
    }
    const bool shortest = large && j->layout.unit == VECTOR && shorter >= SHORTEST;
    return shortest ? MOST : shorter > TWICE ? TWICE : 1;
}

static void fit(const joined *j, const gm_device_properties *device, permute_joined_args *args)
{
    enum { LARGE = 128 << 20 /* bytes */, NARROWEST = 2 * GM_SECTOR };
    const int64_t unit = j->layout.unit, rows = args->rows * unit;
    const int64_t cols = args->cols * j->run * unit;
    const int log = log_of(unit);
    const size_t room = room_of(device, log);
    const bool large = j->layout.units >= LARGE / unit;
    const double run = (double)j->run, larger = j->run > 1 ? SIZES[log].larger : 1;
    int64_t wide = (int64_t)(SIZES[log].wide * larger * pow(run, SIZES[log].longer));
    int64_t high = (int64_t)(SIZES[log].high * larger * pow(run, 1 - SIZES[log].longer));
    const bool narrow = cols < wide && rows > high;
    if (narrow) {
        high = (int64_t)((double)high * longer_side(j, large, (double)wide / (double)cols));
    } else if (rows < high) {
        wide = (int64_t)((double)wide * longer_side(j, large, (double)high / (double)rows));
    }
    cut(j, wide, high, args);
    while (permute_joined_bytes(args) > room && high > GM_SECTOR) {
        if (narrow && large && high > NARROWEST) {
            high -= GM_SECTOR;
        } else {
            wide = wide > NARROWEST ? wide - GM_SECTOR : wide;
            high = wide > NARROWEST ? high : high / 2;
        }
        cut(j, wide, high, args);
    }
}

/* What follows a column in the result, if that is at once: the next one along an axis with `inner`
 * others before it. */
static void set_next(permute_joined_args *args, int64_t inner, int64_t extent, int64_t from,
                     int64_t to)
{
    args->next = to > 0 ? 1 : -1;
    args->next_inner = permute_divisor_of(inner);
    args->next_extent = permute_divisor_of(extent);
    args->jump = args->next * from;
}

static void find_next(const joined *j, permute_joined_args *args)
{
    const permute_layout *layout = &j->layout;
    const int64_t column = layout->extent[0] * layout->unit;
    int64_t inner = 1;
    if (column < GM_SECTOR) {
        return;
    }
    for (int d = 0; d < j->col.ndim; d++) {
        const int64_t extent = j->col.extent[d].by, to = j->col.stride[d];
        if (permute_magnitude(to) == column) {
            set_next(args, inner, extent, j->col_from[d], to);
            args->next_is_column = true;
            return;
        }
        inner *= extent;
    }
    inner = 1;
    for (int d = 1; d < layout->ndim; d++) {
        const int64_t extent = layout->extent[d];
        if (d == j->closest) {
            continue;
        }
        if (inner > MOST || extent > MOST) {
            return; /* too many tiles anyway */
        }
        if (permute_magnitude(layout->to[d]) == column) {
            set_next(args, inner, extent, layout->from[d], layout->to[d]);
            return;
        }
        inner *= extent;
    }
}

/* log2 of how many lines a lane has units of: shared memory has a gap behind these. */
static uint32_t gap_of(int64_t unit, int64_t run)
{
    enum { NEVER = 31 };
    uint32_t gap = 0;
    while ((int64_t)1 << (gap + 1) <= VECTOR / unit / run) {
        gap++;
    }
    return unit == VECTOR ? NEVER : gap;
}

static permute_joined_args plan_of(const joined *j, const gm_device_properties *device)
{
    const permute_layout *layout = &j->layout;
    const int64_t unit = layout->unit;
    permute_joined_args args = {
        .in = layout->in,
        .out = layout->out,
        .line = j->line,
        .col = j->col,
        .rows = (uint32_t)layout->extent[0],
        .cols = (uint32_t)layout->extent[j->closest],
        .run = permute_divisor_of(j->run),
        .lines = (uint32_t)(layout->extent[0] / j->run),
        .gap = gap_of(unit, j->run),
        .halo = permute_past_sector(bits_of_columns(j)) / (unsigned)unit,
        .apart = j->run > 1
                     ? 0
                     : permute_columns_apart(layout->from[0], layout->to[j->closest], (int)unit),
        .turned =
            unit == 1 && j->run == 1 &&
            permute_places_differ(layout->from[0], layout->to[j->closest], 1) % (VECTOR / 2) == 0,
        .uneven = layout->extent[0] * unit % GM_SECTOR != 0,
    };
    fit(j, device, &args);
    if (args.halo > 0) {
        find_next(j, &args);
    }
    return args;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const struct {
    int row, unit;
} instances[] = {
    {permute_row_joined_b8, 1},  {permute_row_joined_b16, 2},   {permute_row_joined_b32, 4},
    {permute_row_joined_b64, 8}, {permute_row_joined_b128, 16},
};

enum { INSTANCES = sizeof instances / sizeof *instances };

static bool takes_runs(const permute_layout *turned, int cols)
{
    const int64_t run = turned->extent[0];
    const int first = axis_after(turned, turned->to, run * turned->unit);
    return cols > 0 && first > 0 && cols != first && turned->ndim <= PERMUTE_TILES_DIMS + 2 &&
           run <= LONGEST && turned->extent[first] <= MOST / run && turned->extent[cols] <= MOST &&
           permute_magnitude(turned->from[first]) >= turned->extent[cols] * run * turned->unit;
}

static bool takes(const permute_layout *turned)
{
    const int cols = axis_of_columns(turned);
    return permute_closest_axis(turned) == 0
               ? takes_runs(turned, cols)
               : permute_has_matrices(turned, cols) && turned->extent[0] <= MOST &&
                     turned->extent[cols] <= MOST;
}

gm_status permute_takes_joined(const gm_variant *variant, const gm_call *call)
{
    permute_layout layout;
    if (call->in[0].bytes == 0) {
        return GM_OK;
    }
    gm_status status = permute_takes_turned(variant, call, &layout);
    if (status != GM_OK) {
        return status;
    }
    if (!takes(&layout)) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s takes matrices of at most %d rows and columns, of units or of "
                       "runs of at most %d units that stay together: in a, columns follow each "
                       "other without gaps, and rows do not overlap",
                       variant->name, MOST, LONGEST);
    }
    for (int i = 0; i < INSTANCES && status == GM_OK; i++) {
        if (gm_row(call, instances[i].row) == variant) {
            status = permute_takes_unit(variant, &layout, instances[i].unit);
        }
    }
    if (status != GM_OK) {
        return status;
    }
    const joined j = join_axes(&layout);
    const permute_joined_args args = plan_of(&j, call->device);
    return tiles_of(&j, &args).all > 0
               ? GM_OK
               : gm_fail(GM_ERROR_VALUE, "a has too many tiles for variant %s", variant->name);
}

int permute_pick_joined(const gm_call *call)
{
    permute_layout layout;
    if (call->in[0].bytes > 0) {
        permute_fold_turned(call, PERMUTE_WIDEST, &layout);
        for (int i = 0; i < INSTANCES; i++) {
            if (instances[i].unit == layout.unit) {
                return instances[i].row;
            }
        }
    }
    return permute_any_instance(call, permute_row_joined);
}

/* Do columns of a thread begin alike in sectors? */
static bool begins_alike(const joined *j, const permute_joined_args *args)
{
    return bits_of_side(&j->col) % GM_SECTOR == 0 || j->col.extent[0].by >= args->width;
}

/* By how much longer the last wave of blocks takes than a full one would, of all waves. */
static double unevenness(const permute_tiling *tiles, int blocks)
{
    const double waves = (double)tiles->all / blocks;
    return waves > 1 ? ceil(waves) / waves - 1 : 0;
}

/* Times are multiples of a copy's, by 476 layouts of 2 MB to 1.2 GB on an H200, and 130 of which
 * lines have several rows. */
double permute_joined_time(const permute_layout *layout, const gm_call *call)
{
    enum { LEAST_ROW = 48, LEAST_COLUMN = 96, LINE = 64, TILE = 8192 /* bytes */ };
    static const double SMALL = 24 << 20 /* bytes */, OF_SMALL[] = {0.05, 0.05, 0.1, 0.1, 0.1};
    static const struct {
        double base;
        double runs;   /* if lines have several rows, */
        double load;   /* of rows that are loaded again for other tiles, */
        double room;   /* of what tiles have no elements for, */
        double rows;   /* for a line of a tile's row, */
        double others; /* if a thread's columns begin differently in sectors, */
        double tiles;  /* for tiles of so many bytes, */
        double waves;  /* of blocks that are missing in the last wave */
    } TIME[] = {
        {1.09, -0.03, 0.44, 0.3, 0.15, 0.16, 0, 0.66},
        {1.05, -0.07, 0.12, 0.05, 0.17, 0.07, 0.05, 0.2},
        {0.97, -0.01, 0.05, 0.1, 0.12, 0.1, 0.3, 0.1},
        {1.07, -0.07, 0, 0.25, 0.1, 0.03, 0.05, 0.1},
        {1.03, -0.05, 0.1, 0.1, 0.3, 0, 0.15, 0.1},
    };
    permute_layout turned = *layout;
    permute_turn(&turned);
    if (!takes(&turned)) {
        return INFINITY;
    }
    const joined j = join_axes(&turned);
    if (j.run == 1 && j.line.ndim == 1 && j.col.ndim == 1) {
        return INFINITY; /* matrices, which the tiles of that row move faster */
    }
    const permute_joined_args args = plan_of(&j, call->device);
    const permute_tiling tiles = tiles_of(&j, &args);
    const double rows = args.rows, cols = args.cols, unit = layout->unit;
    const double row = unit * (cols < args.width ? cols : args.width);
    const double col = unit * (rows < args.step ? rows : args.step);
    if (tiles.all < call->device->multiprocessors || row < LEAST_ROW || col < LEAST_COLUMN) {
        return INFINITY;
    }
    const double again = (double)(tiles.down * args.halo) + (args.next != 0 ? GM_SECTOR / unit : 0);
    const double room = (double)(tiles.down * args.step) * (double)(tiles.across * args.width);
    const double small = SMALL / ((double)layout->units * unit);
    const int i = log_of(layout->unit);
    return TIME[i].base + (j.run > 1 ? TIME[i].runs : 0) + OF_SMALL[i] * (small < 1 ? small : 1) +
           TIME[i].load * again / rows + TIME[i].room * (room / (rows * cols) - 1) +
           TIME[i].rows * LINE / row + (begins_alike(&j, &args) ? 0 : TIME[i].others) +
           TIME[i].tiles * TILE * unit / (row * col) +
           TIME[i].waves * unevenness(&tiles, SIZES[i].blocks * call->device->multiprocessors);
}

void permute_plan_joined(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    permute_layout layout;
    permute_joined_args *args = (permute_joined_args *)plan->args;
    (void)variant;
    permute_fold_turned(call, PERMUTE_WIDEST, &layout);
    const joined j = join_axes(&layout);
    *args = plan_of(&j, call->device);
    if (j.run > 1) {
        permute_choose_banks(args, layout.unit, j.layout.from[0], j.layout.to[j.closest],
                             room_of(call->device, log_of(layout.unit)));
    }
    permute_memory(&layout, &args->begin, &args->end);
    plan->args_size = sizeof *args;
    plan->shared_bytes = permute_joined_bytes(args);
    const permute_tiling tiles = tiles_of(&j, args);
    permute_fill_grid(&tiles, &j.layout, j.closest, plan, &args->grid);
}
