/* packed: where tiles and their rows begin, in memory and in shared memory; see packed.cu. */
#ifndef GPUMEM_PERMUTE_PACKED_TABLES_H
#define GPUMEM_PERMUTE_PACKED_TABLES_H

#include "packed_address.h"
#include "permute.h"

/* Where a row of a side begins, in one access. Tables end with rows that are nowhere. */
struct __align__(8) packed_row
{
    int32_t at;    /* words from the tile's begin, in memory; bytes if rows are shifted */
    uint32_t bits; /* bytes, in shared memory; bit 16 + i: it is there in the last tile along the
                    * axis with this bit, too; and these: */
};

const uint32_t PACKED_THERE = 0x80000000u; /* a bit of all rows but those */

/* Of a place, beside the bits of axes: it is the first along the halo's. */
const uint32_t PACKED_FIRST = 0x10000;

/* Of the first of the rows of a square that begin anywhere. */
enum {
    PACKED_ROWS_LEFT = 22,     /* so many there are from it on, at most 7: from this bit on, */
    PACKED_LAST_ROWS = 25,     /* and in the last tile along the axis */
    PACKED_FIRST_ROW = 1 << 28 /* there is none before it */
};

/* Where a tile begins. */
struct packed_place {
    const char *in;
    char *out;
    uint32_t last; /* the bits of axes along which it is the last one; and PACKED_FIRST */
};

/* The warp that finds where tiles begin: the last one, which has the fewest rows. */
GM_DEVICE bool packed_finds()
{
    return threadIdx.x + 32 >= blockDim.x;
}

/* Along an axis, from a tile to the next. */
struct packed_step {
    int64_t in, out; /* bytes */
    permute_divisor tiles, inner;
    uint32_t ragged;
};

static_assert(sizeof(packed_row) == PACKED_ROW_BYTES &&
                  sizeof(packed_place) == PACKED_PLACE_BYTES &&
                  sizeof(packed_step) == PACKED_STEP_BYTES,
              "the plan reserves shared memory");

/* Shared memory: two tiles; the tables. */
struct packed_shared {
    char *tiles;
    packed_place *places; /* of the tile that is stored, and the next two */
    packed_step *steps;   /* PACKED_DIMS */
    packed_row *load, *store;
    uint16_t *units; /* where the units of the result's first row are, from its begin; and some of
                      * the next row's, if rows begin anywhere */
};

GM_DEVICE packed_shared packed_share(const permute_packed_args &a, char *memory)
{
    packed_shared shared;
    shared.tiles = memory;
    shared.places = (packed_place *)(memory + 2 * a.buffer);
    shared.steps = (packed_step *)(shared.places + PACKED_PLACES);
    shared.load = (packed_row *)(shared.steps + PACKED_DIMS);
    shared.store = shared.load + a.load.room;
    shared.units = (uint16_t *)(shared.store + a.store.room);
    return shared;
}

/* ---- tables -------------------------------------------------------------------------------- */

GM_DEVICE packed_step packed_step_of(const permute_packed_axis &axis)
{
    packed_step step;
    step.in = axis.from * axis.tile.by;
    step.out = axis.to * axis.tile.by;
    step.tiles = axis.tiles;
    step.inner = axis.inner;
    step.ragged = axis.ragged;
    return step;
}

/* Where tile number `index` begins: the work of a warp, a lane for each axis. */
GM_DEVICE void packed_find(const permute_packed_args &a, const packed_shared &shared,
                           uint32_t index, packed_place *place)
{
    const unsigned lane = threadIdx.x % 32;
    int64_t in = 0, out = 0;
    uint32_t last = 0;
    if (lane < a.ndim) {
        const packed_step &step = shared.steps[lane];
        uint32_t rest = permute_divide(index, step.inner);
        const uint32_t at = permute_take(&rest, step.tiles);
        in = (int64_t)at * step.in;
        out = (int64_t)at * step.out;
        last = at + 1 == step.tiles.by ? step.ragged : 0;
        last |= at == 0 && lane == a.halo_axis ? PACKED_FIRST : 0;
    }
#pragma unroll
    for (int far = 8; far > 0; far /= 2) {
        in += __shfl_xor_sync(0xffffffffu, in, far);
        out += __shfl_xor_sync(0xffffffffu, out, far);
        last |= __shfl_xor_sync(0xffffffffu, last, far);
    }
    if (lane == 0) {
        place->in = a.in + in;
        place->out = a.out + out;
        place->last = last;
    }
}

/* Bytes to unit c along an axis, in shared memory. */
GM_DEVICE uint32_t packed_along(const permute_packed_axis &axis, uint32_t c)
{
    return (c >> axis.bits) * axis.high + (c & ((1u << axis.bits) - 1)) * axis.low;
}

GM_DEVICE uint32_t packed_rows_left(uint32_t all, uint32_t c)
{
    return c < all ? min(all - c, 7u) : 0;
}

/* What is told of rows `c` and on along the squared axis. */
GM_DEVICE uint32_t packed_square_bits(const permute_packed_axis &axis, uint32_t c)
{
    return packed_rows_left(axis.tile.by, c) << PACKED_ROWS_LEFT |
           packed_rows_left(axis.last, c) << PACKED_LAST_ROWS | (c == 0 ? PACKED_FIRST_ROW : 0);
}

/* BATCH rows of a side's table, from number `first` on: the axes are read once for all of them. */
template <bool LOAD>
GM_DEVICE void packed_write_rows(const permute_packed_args &a, const permute_packed_side &side,
                                 uint32_t first, packed_row *table)
{
    const bool grouped = !LOAD && a.grouped > 0;
    uint32_t index[PACKED_BATCH], in_group[PACKED_BATCH], bits[PACKED_BATCH];
    int32_t at[PACKED_BATCH];
#pragma unroll
    for (int k = 0; k < PACKED_BATCH; k++) {
        index[k] = first + k;
        bits[k] = index[k] < side.rows ? PACKED_THERE | 0x3f0000u : 0;
        in_group[k] = 0;
        at[k] = 0;
        if (grouped) {
            in_group[k] = permute_take(&index[k], a.groups);
            bits[k] = in_group[k] < a.group_units ? bits[k] : 0;
        }
    }
    for (int i = side.first; i < side.count; i++) {
        const int d = side.order[i];
        const permute_packed_axis axis = a.axis[d];
        const int32_t stride = (int32_t)((LOAD ? axis.from : axis.to) >> side.word_bits);
        const bool in_groups = grouped && i < side.first + a.grouped;
        const bool splits = LOAD && d == a.split, squared = !LOAD && !in_groups && d == a.squared;
        const bool goes_on = LOAD && d == a.halo_axis; /* the last axis: the halo is beyond it */
        const permute_divisor divisor = splits ? a.splits : squared ? a.squares : axis.tile;
        const uint32_t each = splits ? 1u << axis.bits : squared ? 4u / a.unit : 1;
#pragma unroll
        for (int k = 0; k < PACKED_BATCH; k++) {
            uint32_t c = index[k];
            if (in_groups) {
                c = permute_take(&in_group[k], divisor);
            } else if (!goes_on) {
                c = permute_take(&index[k], divisor) * each;
            }
            at[k] += (int32_t)c * stride;
            if (squared && side.shifted) {
                bits[k] |= bits[k] != 0 ? packed_square_bits(axis, c) : 0;
            }
            bits[k] += bits[k] != 0 ? packed_along(axis, c) : 0;
            bits[k] &= c >= axis.last ? ~(axis.ragged << 16) : ~0u;
        }
    }
#pragma unroll
    for (int k = 0; k < PACKED_BATCH; k += 2) {
        *(uint4 *)(table + first + k) =
            make_uint4(bits[k] != 0 ? (uint32_t)at[k] : 0, bits[k],
                       bits[k + 1] != 0 ? (uint32_t)at[k + 1] : 0, bits[k + 1]);
    }
}

template <bool LOAD>
GM_DEVICE void packed_write_table(const permute_packed_args &a, const permute_packed_side &side,
                                  packed_row *table)
{
    for (uint32_t i = threadIdx.x * PACKED_BATCH; i < side.room; i += blockDim.x * PACKED_BATCH) {
        packed_write_rows<LOAD>(a, side, i, table);
    }
}

/* Where units of the result's first row are on chip. */
GM_DEVICE void packed_write_units(const permute_packed_args &a, const packed_shared &shared)
{
    const uint32_t units = a.store.units;
    for (uint32_t i = threadIdx.x * PACKED_BATCH; i < a.entries; i += blockDim.x * PACKED_BATCH) {
        uint32_t rest[PACKED_BATCH], place[PACKED_BATCH];
        bool own[PACKED_BATCH];
#pragma unroll
        for (int k = 0; k < PACKED_BATCH; k++) {
            /* Behind a row in a chain is the next one, which is a unit beside it on chip. */
            const uint32_t at = i + k;
            own[k] = at < units + a.halo;
            rest[k] = own[k] ? at : at - units;
            place[k] = own[k] || !a.chained ? 0 : a.unit;
        }
        for (int j = 0; j < a.store.first; j++) {
            const int d = a.store.order[j];
            const permute_packed_axis axis = a.axis[d];
#pragma unroll
            for (int k = 0; k < PACKED_BATCH; k++) {
                const bool goes_on = own[k] && d == a.halo_axis;
                const uint32_t c = goes_on ? rest[k] : permute_take(&rest[k], axis.tile);
                place[k] += packed_along(axis, c);
            }
        }
        *(uint2 *)(shared.units + i) = make_uint2(__byte_perm(place[0], place[1], 0x5410),
                                                  __byte_perm(place[2], place[3], 0x5410));
    }
}

/* A block's first tile; the others are a wave of blocks further each. */
GM_DEVICE uint32_t packed_first(const permute_packed_args &a)
{
    const uint32_t wave = blockIdx.x / a.wave;
    return wave * (a.each - 1) * a.wave + blockIdx.x;
}

/* No tile from there on is the block's. */
GM_DEVICE uint32_t packed_end(const permute_packed_args &a, uint32_t first)
{
    return min(a.tiles, first + a.each * a.wave);
}

/* What the first loads need. */
GM_DEVICE void packed_prepare_load(const permute_packed_args &a, const packed_shared &shared)
{
    if (threadIdx.x < 32) {
        if (threadIdx.x < a.ndim) {
            shared.steps[threadIdx.x] = packed_step_of(a.axis[threadIdx.x]);
        }
        __syncwarp();
        const uint32_t first = packed_first(a);
        packed_find(a, shared, first, shared.places);
        if (first + a.wave < packed_end(a, first)) {
            packed_find(a, shared, first + a.wave, shared.places + 1);
        }
    }
    packed_write_table<true>(a, a.load, shared.load);
}

GM_DEVICE void packed_prepare_store(const permute_packed_args &a, const packed_shared &shared)
{
    packed_write_table<false>(a, a.store, shared.store);
    packed_write_units(a, shared);
}

/* Words are read that have bytes which no tile sets: at the ends of rows, between them, and of rows
 * that a last tile has not. */
GM_DEVICE void packed_clear(const permute_packed_args &a, const packed_shared &shared)
{
    for (uint32_t at = threadIdx.x * 16; at < 2 * a.buffer; at += blockDim.x * 16) {
        *(uint4 *)(shared.tiles + at) = make_uint4(0, 0, 0, 0);
    }
}

/* ---- rows, as both sides go through them ------------------------------------------------------
 */

/* The first word of a thread: none if `u` is beyond the row. */
struct packed_thread {
    uint32_t u, row;
};

GM_DEVICE packed_thread packed_thread_of(const permute_packed_side &side)
{
    packed_thread thread = {threadIdx.x, 0};
    if (side.run < blockDim.x) {
        thread.row = threadIdx.x / side.run;
        thread.u = thread.row < side.together ? threadIdx.x % side.run : side.run;
    }
    return thread;
}

/* Words of a row that are there in this tile. */
GM_DEVICE uint32_t packed_limit(const permute_packed_side &side, uint32_t last)
{
    return last & side.last_bit ? side.last : side.run;
}

/* Which sectors a tile of those with a halo writes: those that begin in a row of the result. Rows
 * of the first tile along that axis have the sector in which they begin, too. */
struct packed_sectors {
    int32_t bytes; /* of a row in this tile */
    int32_t first; /* bytes from a sector's begin to its last one, of that first tile; or 0 */
};

GM_DEVICE packed_sectors packed_sectors_of(const permute_packed_args &a, const packed_place &place)
{
    const permute_packed_side &side = a.store;
    const bool last = place.last & side.last_bit;
    packed_sectors sectors;
    sectors.bytes = (int32_t)(last ? side.last * side.word : side.units * a.unit);
    sectors.first = place.last & PACKED_FIRST ? 31 : 0;
    return sectors;
}

/* Does the tile write the sector of a word `at` bytes from the begin of its row, of which `to` is
 * the address? */
GM_DEVICE bool packed_writes(const packed_sectors &sectors, int32_t at, uint32_t to)
{
    const int32_t least = at - sectors.bytes + 1, most = at | sectors.first;
    return to % 32 - (uint32_t)least <= (uint32_t)(most - least);
}

/* What `last` is about is true of the row. */
GM_DEVICE bool packed_there(uint32_t last, const packed_row &row)
{
    return (last & ~row.bits) == 0;
}

GM_DEVICE uint32_t packed_place_in(const packed_row &row)
{
    return row.bits & 0xffff;
}

/* COUNT rows of a table, `step` apart. */
template <int COUNT>
GM_DEVICE void packed_rows(const packed_row *rows, uint32_t step, packed_row (&found)[COUNT])
{
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        const uint2 row = *(const uint2 *)(rows + k * step);
        found[k].at = (int32_t)row.x;
        found[k].bits = row.y;
    }
}

/* Where the units of word u of a tile's first row are on chip. */
template <int N>
GM_DEVICE void packed_find_units(const packed_shared &shared, packed_address tile, uint32_t u,
                                 packed_address (&units)[N])
{
    uint16_t found[N];
    memcpy(found, __builtin_assume_aligned(shared.units + u * N, 2 * N), sizeof found);
#pragma unroll
    for (int j = 0; j < N; j++) {
        units[j] = tile + found[j];
        packed_settle(units[j]);
    }
}

/* Words on chip of some rows: a place for each row, and for each word. Each is joined from two, if
 * they are unaligned. */
template <int ROWS, int N, typename row_place, typename word_place>
GM_DEVICE void packed_read_words(const row_place (&at)[ROWS], const word_place (&units)[N],
                                 bool unaligned, uint32_t (&words)[ROWS][N])
{
    if (unaligned) {
#pragma unroll
        for (int i = 0; i < ROWS * N; i++) {
            const packed_address first = units[i % N] + at[i / N];
            const uint32_t *word = packed_pointer<const uint32_t>(first & ~(packed_address)3);
            words[i / N][i % N] = __funnelshift_r(word[0], word[1], (uint32_t)first * 8);
        }
    } else {
#pragma unroll
        for (int i = 0; i < ROWS * N; i++) {
            words[i / N][i % N] = packed_read<uint32_t>(units[i % N] + at[i / N]);
        }
    }
}

#endif
