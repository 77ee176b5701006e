/* permute: the tiles of channels.cu, whose diagram shows what is named here. */
#include "permute/plan_channels.h"

#include <math.h>

#include "backend/backend.h"
#include "permute/plan_matrices.h"
#include "permute/plan_pixels.h"

#define GM_FAMILY permute
#define GM_LADDER "permute/ladder.def"
#include "rows.h"

enum { VECTOR = 16 /* bytes */, LANES = 8 };

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* ---- banks ----------------------------------------------------------------------------------- */

/* Lanes of four channels read from all banks if each of these has its units in other words of the
 * vectors. So many channels apart they are that most often; it has no divisor with their number in
 * common, so that each comes once. */
static uint32_t apart_of(const permute_layout *layout, const permute_channels_args *args)
{
    enum { MOST = 7, TOGETHER = 4, WORD = 4 };
    const unsigned unit = (unsigned)layout->unit, n = VECTOR / unit, all = args->channels.by;
    unsigned best = 1, most = 0;
    for (unsigned apart = 1; apart <= MOST && most < 2 * TOGETHER; apart++) {
        unsigned words[2] = {0, 0}, found = 0;
        for (unsigned t = 0; t < 2 * TOGETHER; t++) {
            const unsigned c = t * apart % all;
            const unsigned others = c / args->inner.by, one = c % args->inner.by;
            const uintptr_t plane = (uintptr_t)layout->out + one * (uintptr_t)args->plane +
                                    others * (uintptr_t)args->other;
            const unsigned first = (unsigned)((0 - plane) / unit % n);
            const unsigned byte =
                (unsigned)((uintptr_t)layout->in % VECTOR) + (first * all + c) * unit;
            words[t / TOGETHER] |= 1u << byte / WORD % TOGETHER;
        }
        for (unsigned bits = words[0] | words[1] << TOGETHER; bits != 0; bits &= bits - 1) {
            found++;
        }
        if (found > most && common_divisor(all, apart) == 1) {
            most = found;
            best = apart;
        }
    }
    return best;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* Vectors in shared memory for so many pixels of a tile. */
static int64_t vectors_of(const permute_channels_args *args, int64_t unit, int64_t pixels)
{
    const int64_t all = pixels + args->halo, rows = args->channels.by;
    if (args->to_planes) {
        return permute_divide_up(all, VECTOR / unit) * args->stride;
    }
    return rows * ((permute_divide_up(all * unit, VECTOR) + 1) | 1) + (rows >> args->gap);
}

/* Pixels of a tile: whole sectors of every plane, as many as have room, in shares that are as even
 * as they can be; fewer where the device would not be busy. */
static int64_t step_of(const permute_channels_args *args, int64_t unit, int64_t images,
                       const gm_device_properties *device)
{
    enum { BLOCKS = 4, RESERVED = 2 << 10, LEAST = 8 << 10 /* bytes */ };
    const int64_t sector = GM_SECTOR / unit;
    const int64_t room = device->shared_per_multiprocessor / BLOCKS - RESERVED;
    const int64_t wanted = (int64_t)device->multiprocessors * BLOCKS;
    int64_t step = room / ((int64_t)args->channels.by * unit) / sector * sector;
    step = step > sector ? step : sector;
    while (step > sector && vectors_of(args, unit, step) * VECTOR > room) {
        step -= sector;
    }
    while (step > sector && step * args->channels.by * unit > LEAST &&
           permute_divide_up(args->pixels, step) * images < wanted) {
        step = permute_divide_up(step / 2, sector) * sector;
    }
    const int64_t tiles = permute_divide_up(args->pixels, step);
    return permute_divide_up(permute_divide_up(args->pixels, tiles), sector) * sector;
}

/* Shares of a plane, of eight lanes each: as many as keep most of a block's lanes busy. */
static uint32_t shares_of(int64_t channels, int64_t vectors)
{
    enum { GROUPS = CHANNELS_THREADS / LANES, MOST = 16, ROUNDS = 4 };
    uint32_t best = 1;
    double most = 0;
    for (int64_t shares = 1; shares <= MOST; shares++) {
        const int64_t all = channels * shares;
        const double busy = (double)all / (double)(permute_divide_up(all, GROUPS) * GROUPS);
        if (busy > most * 1.02 && (shares == 1 || vectors >= shares * LANES * ROUNDS)) {
            most = busy;
            best = (uint32_t)shares;
        }
    }
    return best;
}

/* The axis, other than `but`, whose units are so many bytes apart; or -1. */
static int axis_of(const permute_layout *layout, const int64_t *stride, int64_t bytes, int but)
{
    for (int d = 0; d < layout->ndim; d++) {
        if (d != but && stride[d] == bytes) {
            return d;
        }
    }
    return -1;
}

/* Channels along two axes, as of pixels of 13 x 3 bytes whose planes are in another order. In
 * `layout` they are one axis, with the distances of the one that is the inner one in pixels. That
 * has `inner` channels, and the planes of those behind them begin `other` bytes further. */
typedef struct channels_pair {
    permute_layout layout;
    int64_t inner, other;
} channels_pair;

/* False if no second axis follows that of the closest channels in pixels. */
static bool join_channels(const permute_layout *layout, bool to_planes, channels_pair *pair)
{
    const int64_t unit = layout->unit, *packed = to_planes ? layout->from : layout->to;
    const int first = axis_of(layout, packed, unit, -1);
    if (first < 0 || layout->ndim < 3) {
        return false;
    }
    const int second = axis_of(layout, packed, layout->extent[first] * unit, first);
    if (second < 0 || (to_planes && (first == 0 || second == 0))) {
        return false;
    }
    *pair = (channels_pair){*layout, layout->extent[first],
                            (to_planes ? layout->to : layout->from)[second]};
    permute_join_axes(&pair->layout, first, second);
    return true;
}

static bool plan_of(const permute_layout *all, const gm_device_properties *device,
                    permute_channels_args *args)
{
    permute_image of;
    channels_pair pair = {*all, 0, 0};
    const permute_layout *layout = &pair.layout;
    bool found = permute_as_image(layout, CHANNELS_LEAST, CHANNELS_MOST, &of);
    for (int i = 0; i < 2 && !found; i++) {
        const bool to_planes = i == 0;
        found = join_channels(all, to_planes, &pair) &&
                permute_as_image(layout, CHANNELS_LEAST, CHANNELS_MOST, &of) &&
                of.to_planes == to_planes;
    }
    if (!found || layout->ndim > PERMUTE_TILES_DIMS + 2) {
        return false;
    }
    const int64_t unit = layout->unit;
    const int c = of.channels;
    const int64_t channels = layout->extent[c], pixels = layout->extent[of.pixels];
    const int64_t images = layout->units / pixels / channels;
    *args = (permute_channels_args){
        .in = layout->in,
        .out = layout->out,
        .plane = of.to_planes ? layout->to[c] : layout->from[c],
        .other = pair.other,
        .pixels = pixels,
        .channels = permute_divisor_of(channels),
        .inner = permute_divisor_of(pair.inner > 0 ? pair.inner : channels),
        .halo = (uint32_t)(of.to_planes ? GM_SECTOR / unit - 1
                                        : permute_divide_up(GM_SECTOR / unit - 1, channels)),
        .to_planes = of.to_planes,
        .outer = permute_outer_axes(layout, of.to_planes ? c : of.pixels),
    };
    args->stride = (uint32_t)(channels + 1) | 1; /* of rows of pixels */
    args->gap = of.to_planes ? 31 : 3;
    args->apart = of.to_planes ? apart_of(layout, args) : 1;
    const int64_t step = step_of(args, unit, images, device);
    const int64_t tiles = permute_divide_up(pixels, step);
    const int64_t n = VECTOR / unit, period = channels / common_divisor(channels, n);
    if (tiles > INT32_MAX / images) {
        return false;
    }
    args->step = (uint32_t)step;
    args->tiles = permute_divisor_of(tiles);
    args->blocks = (uint32_t)(tiles * images);
    const int64_t plane = permute_divide_up((step + args->halo) * unit, VECTOR) + 1;
    args->stride = of.to_planes ? args->stride : (uint32_t)plane | 1;
    args->vectors = permute_divisor_of(of.to_planes ? channels + 1 : plane);
    args->shares = shares_of(channels, step / n);
    args->busy = (uint32_t)(CHANNELS_THREADS / period * period);
    args->on = (uint32_t)(args->busy * n / channels * unit);
    permute_memory(all, &args->begin, &args->end);
    return true;
}

/* ---- the row --------------------------------------------------------------------------------- */

static const struct {
    int row, unit;
} instances[] = {
    {permute_row_channels_b8, 1},
    {permute_row_channels_b16, 2},
    {permute_row_channels_b32, 4},
};

enum { INSTANCES = sizeof instances / sizeof *instances };

gm_status permute_takes_channels(const gm_variant *variant, const gm_call *call)
{
    permute_layout layout;
    permute_channels_args args;
    if (call->in[0].bytes == 0) {
        return GM_OK;
    }
    permute_fold_turned(call, PERMUTE_WIDEST, &layout);
    if (!plan_of(&layout, call->device, &args)) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s moves %d to %d channels of units of 1, 2 or 4 bytes, between "
                       "pixels and planes; axes and a are something else",
                       variant->name, CHANNELS_LEAST, CHANNELS_MOST);
    }
    for (int i = 0; i < INSTANCES; i++) {
        if (gm_row(call, instances[i].row) == variant) {
            return permute_takes_unit(variant, &layout, instances[i].unit);
        }
    }
    return GM_OK;
}

int permute_pick_channels(const gm_call *call)
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
    return permute_any_instance(call, permute_row_channels);
}

/* Many images that are a tile each: a block takes as long for a short one as for so many bytes. */
static double of_short_images(const permute_channels_args *args, const permute_layout *layout,
                              const gm_call *call)
{
    enum { WAVES = 8, BLOCKS = 4 /* of a multiprocessor */ };
    static const double BLOCK[] = {7800, 5300, 0, 4600};
    const bool many = args->blocks >= (uint32_t)(WAVES * BLOCKS * call->device->multiprocessors);
    const double image = (double)(args->pixels * args->channels.by * layout->unit);
    return args->tiles.by == 1 && many ? BLOCK[layout->unit - 1] / image : 0;
}

/* Times are multiples of a copy's, by 150 layouts of 1 to 800 MB on an H200, and 70 of images of
 * 700 to 12000 bytes. */
double permute_channels_time(const permute_layout *layout, const gm_call *call)
{
    static const double SMALL = 24 << 20, END = 90 /* bytes */;
    static const double BASE[] = {1.09, 1.06, 0, 1.045}, OF_SMALL[] = {0.1, 0.1, 0, 0.1};
    permute_layout turned = *layout;
    permute_channels_args args;
    permute_turn(&turned);
    if (!plan_of(&turned, call->device, &args)) {
        return INFINITY;
    }
    const int64_t unit = layout->unit;
    const double small = SMALL / (double)(layout->units * unit);
    return hypot(BASE[unit - 1] + OF_SMALL[unit - 1] * (small < 1 ? small : 1) +
                     END / (double)(args.pixels * unit),
                 of_short_images(&args, layout, call));
}

/* Packed would have rows that begin anywhere; lanes of words find what they read in the L1. By 42
 * layouts of 5 and 13 channels on an H200. Of planes of bytes the L1 has too many lines to find. */
bool permute_are_short_images(const permute_layout *layout)
{
    enum { FEWEST = 5, MOST = 16 /* channels */, LARGE = 24 << 20 /* bytes */ };
    static const int64_t SHORT[] = {12 << 10, 12 << 10, 0, 7 << 10};
    permute_layout turned = *layout;
    permute_image of;
    permute_turn(&turned);
    if (!permute_as_image(&turned, FEWEST, MOST, &of)) {
        return false;
    }
    const int64_t unit = turned.unit, channels = turned.extent[of.channels];
    const int64_t plane = turned.extent[of.pixels] * unit;
    const int64_t next = of.to_planes ? turned.to[of.channels] : turned.from[of.channels];
    return channels % 4 != 0 && next == plane && plane * channels <= SHORT[unit - 1] &&
           turned.units >= LARGE / unit && (unit > 1 || of.to_planes);
}

/* Transpose has vectors for planes that begin with them, of bytes, and tiles for what is made of
 * vectors on both sides; for words it has other kernels, but not for some pixels between narrow
 * ones and whole tiles. It is as fast for small arrays. */
bool permute_prefers_channels(const permute_layout *layout, const gm_call *call)
{
    enum { NARROW = 16, TILE = 32, FEWEST = 5 /* channels */ };
    static const int64_t LEAST[] = {1 << 20, 1 << 20, 0, 24 << 20}; /* bytes, by unit */
    const int64_t unit = layout->unit;
    permute_layout turned = *layout;
    permute_channels_args args;
    permute_turn(&turned);
    if (!plan_of(&turned, call->device, &args) || args.channels.by < FEWEST ||
        layout->units * unit < LEAST[unit - 1]) {
        return false;
    }
    const bool planes = (args.pixels * unit) % VECTOR == 0;
    const bool pixels =
        ((uintptr_t)layout->in | (args.channels.by * (uintptr_t)unit)) % VECTOR == 0;
    if (planes && pixels && args.channels.by >= TILE) {
        return false;
    }
    switch (unit) {
    case 1: return !args.to_planes || !planes;
    case 2: return true;
    default: return args.to_planes && args.channels.by > NARROW && args.channels.by < TILE;
    }
}

bool permute_has_channels(const permute_layout *layout, const gm_call *call)
{
    return permute_prefers_pixels(layout) || permute_prefers_channels(layout, call);
}

void permute_plan_channels(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    permute_layout layout;
    permute_channels_args *args = (permute_channels_args *)plan->args;
    (void)variant;
    permute_fold_turned(call, PERMUTE_WIDEST, &layout);
    (void)plan_of(&layout, call->device, args); /* see permute_takes_channels */
    plan->args_size = sizeof *args;
    plan->shared_bytes = (size_t)vectors_of(args, layout.unit, args->step) * VECTOR;
    plan->grid.x = args->blocks;
}
