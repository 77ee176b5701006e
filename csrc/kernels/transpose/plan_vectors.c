/* transpose: the plan of narrow_vectors: the part of a block, and its layout in shared memory. */
#include "transpose/plan_vectors.h"

#include <string.h>

#include "transpose/choose.h"

enum {
    VECTOR = 16,
    PAIRS = 16, /* of a warp's lanes: each has a sector */
    PLACES = 3, /* of a share, at which passes are counted */
};

/* Passes that the loads of a warp from shared memory take, in all at PLACES of its share: different
 * words of the bank that most lanes ask for. */
static int count_passes(const gm_call *call, const transpose_vectors_args *args)
{
    int size = args->walk.itemsize, passes = 0;
    uint64_t column_bytes = (uint64_t)args->walk.rows * (uint64_t)size;
    for (unsigned i = 0; i < PLACES; i++) {
        uint64_t from = (uint64_t)args->share * column_bytes * i / PLACES;
        uint32_t wanted[32][32];
        int counts[32] = {0}, most = 0;
        for (unsigned lane = 0; lane < 32; lane++) {
            uint64_t column = (uint64_t)(lane / 2) * (uint64_t)args->share;
            uint64_t begin = (uintptr_t)call->out.data + column * column_bytes;
            uint64_t place = from / TRANSPOSE_SECTOR * TRANSPOSE_SECTOR +
                             (0 - begin) % TRANSPOSE_SECTOR + (uint64_t)(lane % 2) * VECTOR;
            uint64_t row = place % column_bytes / (unsigned)size;
            uint64_t at =
                row * (unsigned)args->tile_pitch + (column + place / column_bytes) * (unsigned)size;
            uint32_t word = (uint32_t)(at / 4);
            int bank = (int)(word % 32), known = 0;
            while (known < counts[bank] && wanted[bank][known] != word) {
                known++;
            }
            if (known == counts[bank]) {
                wanted[bank][counts[bank]++] = word;
            }
            most = counts[bank] > most ? counts[bank] : most;
        }
        passes += most;
    }
    return passes;
}

/* Threads that load a window, as log2 of a number that divides the block. */
static unsigned find_window_bits(int window, unsigned threads)
{
    unsigned bits = 0;
    while (1 << bits < window && threads % (2u << bits) == 0) {
        bits++;
    }
    return bits;
}

/* ---- few columns --------------------------------------------------------------------------- */

/* Rows keep the pitch of the input or, where all begin at 16 bytes, a larger one. That is worth
 * loading them one by one where banks conflict much; elements of 2 bytes have half as many loads.
 * Returns the passes. */
static int pick_pitch(const gm_call *call, transpose_vectors_args *args)
{
    const transpose_args *walk = &args->walk;
    bool aligned = ((uintptr_t)walk->in | (uintptr_t)walk->pitch) % VECTOR == 0;
    int64_t pitch = walk->pitch, best = pitch, furthest = aligned ? pitch + 3 * VECTOR : pitch;
    int fewest = 0, good = walk->itemsize == 1 ? 3 : 6;
    args->share = 1;
    for (int64_t tile_pitch = pitch; tile_pitch <= furthest && (fewest == 0 || fewest > good);
         tile_pitch += VECTOR) {
        args->tile_pitch = (int)tile_pitch;
        int passes = (count_passes(call, args) + PLACES - 1) / PLACES;
        if (fewest == 0 || passes < fewest) {
            fewest = passes;
            best = tile_pitch;
        }
    }
    args->tile_pitch = (int)best;
    int64_t row = walk->cols * walk->itemsize;
    args->window = best == pitch ? 0 : (int)transpose_divide_up(row, VECTOR);
    return fewest;
}

int transpose_vectors_passes(const gm_call *call)
{
    const gm_array *in = &call->in[0];
    transpose_vectors_args args = {
        .walk = {.in = in->data,
                 .rows = in->shape[0],
                 .cols = in->shape[1],
                 .pitch = in->strides[0],
                 .itemsize = (int)in->itemsize},
    };
    return pick_pitch(call, &args);
}

/* A block has the sectors of all columns of the output that begin in its rows. */
static void plan_columns(const gm_call *call, gm_plan *plan, transpose_vectors_args *args)
{
    enum { LONG_ROW = 256 /* bytes */ };
    transpose_args *walk = &args->walk;
    int64_t sector = TRANSPOSE_SECTOR / walk->itemsize, halo = sector - 1, pitch = walk->pitch;
    pick_pitch(call, args);
    int64_t room = (pitch > LONG_ROW ? VECTORS_LARGE : VECTORS_MIDDLE) / args->tile_pitch - halo;
    int64_t sectors = transpose_smaller(room / sector, transpose_divide_up(walk->rows, sector));
    while (sectors > 1 && transpose_divide_up(walk->rows, sectors * sector) <
                              (int64_t)call->device->multiprocessors) {
        sectors = (sectors + 1) / 2;
    }
    walk->strip = sectors * sector;
    args->steps = (unsigned)sectors;
    args->groups = (unsigned)transpose_divide_up(walk->cols, PAIRS);
    plan->block.x = VECTORS_THREADS;
    plan->shared_bytes = (size_t)((walk->strip + halo) * args->tile_pitch + 2 * VECTOR);
}

/* ---- few rows ------------------------------------------------------------------------------ */

/* A share of columns and a pitch that avoid bank conflicts: pairs of lanes read from as many shares
 * at any rows. A smaller share costs little, two passes cost nothing. */
static void pick_share(const gm_call *call, transpose_vectors_args *args, int64_t share,
                       int64_t extra, int64_t room)
{
    enum { FEWER = 8, FURTHER = 3, GOOD = 2 * PLACES };
    transpose_vectors_args best = {0};
    int fewest = 0;
    for (int64_t s = share; s > 0 && s > share - FEWER; s--) {
        int64_t bytes = (s * PAIRS + extra) * args->walk.itemsize + VECTOR - 1;
        int64_t tile_pitch =
            transpose_divide_up(bytes, VECTOR) * VECTOR + args->walk.pitch % VECTOR;
        for (int i = 0; i <= FURTHER && tile_pitch <= room; i++) {
            args->share = (int)s;
            args->tile_pitch = (int)tile_pitch;
            int passes = count_passes(call, args);
            if (fewest == 0 || passes < fewest) {
                fewest = passes;
                best = *args;
            }
            if (fewest <= GOOD) {
                *args = best;
                return;
            }
            tile_pitch += VECTOR;
        }
    }
    *args = best;
}

/* A block has columns, in windows of all rows that begin and end at multiples of 16 bytes. Columns
 * that complete the last sector are loaded by two blocks. */
static void plan_rows(const gm_call *call, gm_plan *plan, transpose_vectors_args *args)
{
    enum { VERY_FEW = 31, MANY = 128 };
    transpose_args *walk = &args->walk;
    int64_t rows = walk->rows, size = walk->itemsize, column_bytes = rows * size;
    /* Small tiles, many at a time, unless their windows were short. */
    int64_t bytes = rows <= VERY_FEW ? VECTORS_SMALL
                    : rows <= MANY   ? VECTORS_MIDDLE
                                     : VECTORS_LARGE;
    int64_t room = bytes / rows, extra = transpose_divide_up(TRANSPOSE_SECTOR - 1, column_bytes);
    int64_t window = (room - walk->pitch % VECTOR) / VECTOR * VECTOR;
    int64_t share = ((window - (VECTOR - 1)) / size - extra) / PAIRS;
    while (share > 1 && transpose_divide_up(walk->cols, share * PAIRS) <
                            (int64_t)call->device->multiprocessors) {
        share = (share + 1) / 2;
    }
    pick_share(call, args, share, extra, room);
    walk->strip = (int64_t)args->share * PAIRS;
    args->window = (int)transpose_divide_up((walk->strip + extra) * size + VECTOR - 1, VECTOR);
    args->column_bytes = (unsigned)column_bytes;
    args->reciprocal = (((uint64_t)1 << 32) + (uint64_t)column_bytes - 1) / (uint64_t)column_bytes;
    args->steps = (unsigned)transpose_divide_up(args->share * column_bytes, TRANSPOSE_SECTOR);
    args->groups = 1;
    plan->block.x = rows <= VERY_FEW ? 256 : VECTORS_THREADS;
    plan->shared_bytes = (size_t)(rows * args->tile_pitch + 2 * VECTOR);
}

gm_status transpose_plan_vectors(const gm_variant *variant, const gm_call *call, gm_plan *plan,
                                 const transpose_args *walk)
{
    transpose_vectors_args args = {.walk = *walk};
    bool columns = walk->cols <= walk->rows;
    (columns ? plan_columns : plan_rows)(call, plan, &args);
    int64_t blocks = transpose_divide_up(columns ? walk->rows : walk->cols, args.walk.strip);
    if (blocks > call->device->max_grid_x) {
        return gm_fail(GM_ERROR_VALUE, "a has too many %s for variant %s",
                       columns ? "rows" : "columns", variant->name);
    }
    plan->grid.x = (unsigned)blocks;
    args.window_bits = find_window_bits(args.window, plan->block.x);
    memcpy(plan->args, &args, sizeof args);
    plan->args_size = sizeof args;
    return GM_OK;
}
