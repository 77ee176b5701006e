/*
 * permute / packed: a piece of memory that is rearranged on chip.
 *
 * Follows  tiles, which have two axes and are mostly empty where one of them is short.
 * Idea     a tile has as many axes as it takes to make runs on both sides: the closest axes of the
 *          input, and the innermost axes of the result. Example, 3 channels first, a tile of 8
 *          pixels:
 *
 *              input, pixel by pixel        shared memory            result, plane by plane
 *              r g b r g b r g b ...        r g b r g b r g b ...    r r r r r r r r
 *                                 ---->                       ---->  g g g g g g g g
 *              a row of 24 units            in load order            b b b b b b b b
 *                                                                    three rows of 8
 *
 * Rows     each side of a tile is rows of words: a row runs on in memory. Where rows begin, in
 *          memory and on chip, is the same in all tiles: a block writes it to tables once, and
 *          goes from tile to tile. One warp finds where the next tile but one begins, a lane for
 *          each axis. The tables may be written while the previous kernel still runs.
 * thread   keeps to one word of a row, and goes from row to row; of rows longer than a block to
 *          every 256th word. It loads by asynchronous copies, and meanwhile gathers the words of
 *          the tile before from shared memory, and stores them.
 * word     units of 1 or 2 bytes are joined to 4 bytes, where they lie together on that side.
 * Squares  where units are joined on both sides, a thread takes as many words as a word has units,
 *          transposes them in registers, and has a word for each of as many rows of the result.
 * Banks    spare bytes between the rows of a tile; the plan counts the conflicts of a few numbers
 *          of them, and takes the best.
 * Machine  LDGSTS, LDS, PRMT, STG
 */
#include "permute.h"
#include "squares.h"

/* Where a row of a side begins, in one access. Tables end with rows that are nowhere. */
struct __align__(8) packed_row
{
    int32_t at;    /* words from the tile's begin, in memory; bytes if rows are shifted */
    uint32_t bits; /* bytes, in shared memory; bit 16 + i: it is there in the last tile along
                    * a.rag[i].axis, too */
};

const uint32_t PACKED_THERE = 0x80000000u; /* a bit of all rows but those */

/* Where a tile begins. */
struct packed_place {
    const char *in;
    char *out;
    uint32_t last; /* bit i: it is the last along a.rag[i].axis */
};

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
    packed_place *places; /* three: of the tile that is stored, and the next two */
    packed_step *steps;   /* PACKED_DIMS */
    packed_row *load, *store;
    uint16_t *units; /* where the units of the result's first row are, from its begin */
};

GM_DEVICE packed_shared packed_share(const permute_packed_args &a, char *memory)
{
    packed_shared shared;
    shared.tiles = memory;
    shared.places = (packed_place *)(memory + 2 * a.buffer);
    shared.steps = (packed_step *)(shared.places + 3);
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

template <bool LOAD>
GM_DEVICE packed_row packed_row_of(const permute_packed_args &a, const permute_packed_side &side,
                                   uint32_t index)
{
    packed_row row = {0, index < side.rows ? 0xffff0000u : 0};
    int64_t at = 0;
    if (row.bits == 0) {
        return row;
    }
    for (int i = side.first; i < side.count; i++) {
        const int d = side.order[i];
        const permute_packed_axis &axis = a.axis[d];
        uint32_t c;
        if (!LOAD && d == a.squared) {
            c = permute_take(&index, a.squares) * (axis.tile.by / a.squares.by);
        } else {
            c = permute_take(&index, axis.tile);
        }
        at += c * (LOAD ? axis.from : axis.to);
        row.bits += packed_along(axis, c);
        for (int k = 0; k < a.ragged; k++) {
            if (a.rag[k].axis == (uint32_t)d && c >= a.rag[k].last) {
                row.bits &= ~(0x10000u << k);
            }
        }
    }
    row.at = (int32_t)(at >> side.word_bits);
    return row;
}

GM_DEVICE void packed_set_row(packed_row *place, packed_row row)
{
    *(uint2 *)place = make_uint2((uint32_t)row.at, row.bits);
}

GM_DEVICE void packed_prepare(const permute_packed_args &a, const packed_shared &shared)
{
    if (threadIdx.x < 32) {
        if (threadIdx.x < a.ndim) {
            shared.steps[threadIdx.x] = packed_step_of(a.axis[threadIdx.x]);
        }
        __syncwarp();
        packed_find(a, shared, blockIdx.x, shared.places);
        if (blockIdx.x + gridDim.x < a.tiles) {
            packed_find(a, shared, blockIdx.x + gridDim.x, shared.places + 1);
        }
    }
    for (uint32_t i = threadIdx.x; i < a.load.room; i += PACKED_THREADS) {
        packed_set_row(shared.load + i, packed_row_of<true>(a, a.load, i));
    }
    for (uint32_t i = threadIdx.x; i < a.store.room; i += PACKED_THREADS) {
        packed_set_row(shared.store + i, packed_row_of<false>(a, a.store, i));
    }
    for (uint32_t i = threadIdx.x; i < a.store.units; i += PACKED_THREADS) {
        uint32_t rest = i, place = 0;
        for (int k = 0; k < a.store.first; k++) {
            const permute_packed_axis &axis = a.axis[a.store.order[k]];
            place += packed_along(axis, permute_take(&rest, axis.tile));
        }
        shared.units[i] = (uint16_t)place;
    }
}

/* ---- load ---------------------------------------------------------------------------------- */

/* The first word of a thread: none if `u` is beyond the row. */
struct packed_thread {
    uint32_t u, row;
};

GM_DEVICE packed_thread packed_thread_of(const permute_packed_side &side)
{
    packed_thread thread = {threadIdx.x, 0};
    if (side.run < PACKED_THREADS) {
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

/* ALONG: several words of a row in flight, instead of one of several rows. */
template <typename type, bool ALONG>
GM_DEVICE void packed_load(const permute_packed_args &a, const packed_place &place,
                           packed_thread thread, const packed_row *rows, char *tile)
{
    enum { BATCH = sizeof(type) < 4 ? 2 * PACKED_BATCH : PACKED_BATCH };
    const permute_packed_side &side = a.load;
    const uint32_t last = place.last << 16 | PACKED_THERE, limit = packed_limit(side, place.last);
    const uint32_t end = ALONG ? side.rows : side.room, step = ALONG ? 1 : BATCH * side.together;

    for (uint32_t u = thread.u; u < limit; u += (ALONG ? BATCH : 1) * PACKED_THREADS) {
        const type *from = (const type *)place.in + (int32_t)u * side.step;
        char *to = tile + u * sizeof(type);
        gm_settle(from);
        for (uint32_t r = thread.row; r < end; r += step) {
            packed_row row[ALONG ? 1 : BATCH];
            packed_rows(rows + r, side.together, row);
            type held[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                const packed_row &one = row[ALONG ? 0 : k];
                const int32_t on = ALONG ? k * PACKED_THREADS : 0;
                if (packed_there(last, one) && u + on < limit) {
                    const type *word = from + (one.at + on * side.step);
                    if constexpr (sizeof(type) >= 4) {
                        __pipeline_memcpy_async(to + (packed_place_in(one) + on * sizeof(type)),
                                                word, sizeof(type));
                    } else {
                        held[k] = *word;
                    }
                }
            }
            if constexpr (sizeof(type) < 4) {
#pragma unroll
                for (int k = 0; k < BATCH; k++) {
                    const packed_row &one = row[ALONG ? 0 : k];
                    const int32_t on = ALONG ? k * PACKED_THREADS : 0;
                    if (packed_there(last, one) && u + on < limit) {
                        *(type *)(to + (packed_place_in(one) + on * sizeof(type))) = held[k];
                    }
                }
            }
        }
    }
}

/* What of a word that ends outside of the input's memory is inside of a row. */
GM_DEVICE void packed_load_bytes(const char *word, const char *from, uint32_t bytes, char *to)
{
    for (int j = 0; j < 4; j++) {
        if (word + j >= from && word + j < from + bytes) {
            to[j] = word[j];
        }
    }
}

/* Rows of bytes or halves that begin anywhere in words: whole words, those at both ends included.
 * Places on chip are as far from whole words as those in memory. */
template <typename unit>
GM_DEVICE void packed_load_shifted(const permute_packed_args &a, const packed_place &place,
                                   packed_thread thread, const packed_row *rows, char *tile)
{
    const permute_packed_side &side = a.load;
    const uint32_t last = place.last << 16 | PACKED_THERE;
    const uint32_t units = place.last & side.last_bit ? side.last : side.units;
    const uint32_t limit = units * sizeof(unit);

    for (uint32_t u = thread.u; u < side.run; u += PACKED_THREADS) {
        for (uint32_t r = thread.row; r < side.room; r += PACKED_BATCH * side.together) {
            packed_row row[PACKED_BATCH];
            packed_rows(rows + r, side.together, row);
#pragma unroll
            for (int k = 0; k < PACKED_BATCH; k++) {
                const char *from = place.in + row[k].at;
                const uint32_t phase = (uint32_t)(uintptr_t)from & 3;
                if (packed_there(last, row[k]) && u * 4 < limit + phase) {
                    const char *word = from - phase + u * 4;
                    char *to = tile + packed_place_in(row[k]) - phase + u * 4;
                    if (word >= a.begin && word + 4 <= a.end) {
                        __pipeline_memcpy_async(to, word, 4);
                    } else {
                        packed_load_bytes(word, from, limit, to);
                    }
                }
            }
        }
    }
}

template <typename type>
GM_DEVICE void packed_load_side(const permute_packed_args &a, const packed_place &place,
                                packed_thread thread, const packed_row *rows, char *tile)
{
    if (a.load.along) {
        packed_load<type, true>(a, place, thread, rows, tile);
    } else {
        packed_load<type, false>(a, place, thread, rows, tile);
    }
}

template <typename unit>
GM_DEVICE void packed_load_words(const permute_packed_args &a, const packed_place &place,
                                 packed_thread thread, const packed_row *rows, char *tile)
{
    if (sizeof(unit) < 4 && a.load.shifted) {
        packed_load_shifted<unit>(a, place, thread, rows, tile);
    } else if (sizeof(unit) < 4 && a.load.word == 4) {
        packed_load_side<uint32_t>(a, place, thread, rows, tile);
    } else {
        packed_load_side<unit>(a, place, thread, rows, tile);
    }
}

/* ---- store --------------------------------------------------------------------------------- */

/* N units, as a word; SQUARES: N words of N units each, as N words of the result. */
template <typename unit, typename word, int N, bool SQUARES>
GM_DEVICE void packed_gather(const char *row, const uint16_t (&units)[N],
                             word (&held)[SQUARES ? N : 1])
{
    if constexpr (N == 1) {
        held[0] = *(const unit *)(row + units[0]);
    } else if constexpr (SQUARES) {
        uint32_t rows[N];
#pragma unroll
        for (int j = 0; j < N; j++) {
            rows[j] = *(const uint32_t *)(row + units[j]);
        }
        transpose_words(rows, held);
    } else {
        held[0] = 0;
#pragma unroll
        for (int j = 0; j < N; j++) {
            held[0] |= (word) * (const unit *)(row + units[j]) << j * 8 * (int)sizeof(unit);
        }
    }
}

template <typename unit, typename word, bool SQUARES, bool ALONG>
GM_DEVICE void packed_store(const permute_packed_args &a, const packed_place &place,
                            packed_thread thread, const packed_shared &shared, const char *tile)
{
    enum { N = sizeof(word) / sizeof(unit), EACH = SQUARES ? N : 1 };
    enum { BATCH = sizeof(word) * EACH == 16 ? PACKED_BATCH / 2 : PACKED_BATCH };
    const permute_packed_side &side = a.store;
    const uint32_t last = place.last << 16 | PACKED_THERE, limit = packed_limit(side, place.last);
    const uint32_t end = ALONG ? side.rows : side.room, step = ALONG ? 1 : BATCH * side.together;

    for (uint32_t u = thread.u; u < limit; u += (ALONG ? BATCH : 1) * PACKED_THREADS) {
        word *to = (word *)place.out + u;
        uint16_t units[ALONG ? BATCH : 1][N];
        gm_settle(to);
#pragma unroll
        for (int k = 0; k < (ALONG ? BATCH : 1); k++) {
            const uint32_t at = u + k * PACKED_THREADS;
            if (at < limit) {
                const uint16_t *first = shared.units + at * N;
                memcpy(units[k], __builtin_assume_aligned(first, 2 * N), sizeof units[k]);
            }
        }
        for (uint32_t r = thread.row; r < end; r += step) {
            packed_row row[ALONG ? 1 : BATCH];
            word held[BATCH][EACH];
            packed_rows(shared.store + r, side.together, row);
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                const packed_row &one = row[ALONG ? 0 : k];
                if (packed_there(last, one) && (!ALONG || u + k * PACKED_THREADS < limit)) {
                    packed_gather<unit, word, N, SQUARES>(tile + packed_place_in(one),
                                                          units[ALONG ? k : 0], held[k]);
                }
            }
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                const packed_row &one = row[ALONG ? 0 : k];
                const int32_t on = ALONG ? k * PACKED_THREADS : 0;
                if (packed_there(last, one) && u + on < limit) {
#pragma unroll
                    for (int j = 0; j < EACH; j++) {
                        to[one.at + on + j * a.square_step] = held[k][j];
                    }
                }
            }
        }
    }
}

/* Some of the units of a word. */
template <typename unit>
GM_DEVICE void packed_store_part(char *to, uint32_t word, int32_t first, uint32_t limit)
{
#pragma unroll
    for (int j = 0; j < 4 / (int)sizeof(unit); j++) {
        if ((uint32_t)(first + j) < limit) {
            ((unit *)to)[j] = (unit)(word >> 8 * sizeof(unit) * j);
        }
    }
}

/* Rows of bytes or halves that begin anywhere in words: whole words, and units at both ends. A
 * thread knows where the units are that its word may have. */
template <typename unit>
GM_DEVICE void packed_store_shifted(const permute_packed_args &a, const packed_place &place,
                                    packed_thread thread, const packed_shared &shared,
                                    const char *tile)
{
    enum { N = 4 / sizeof(unit), NEAR = 2 * N - 1 };
    const permute_packed_side &side = a.store;
    const uint32_t last = place.last << 16 | PACKED_THERE;
    const uint32_t limit = place.last & side.last_bit ? side.last : side.units;

    for (uint32_t u = thread.u; u < side.run; u += PACKED_THREADS) {
        const int32_t nearest = (int32_t)(u * N) - (N - 1);
        uint32_t near[NEAR];
#pragma unroll
        for (int i = 0; i < NEAR; i++) {
            const uint32_t at = (uint32_t)(nearest + i);
            near[i] = at < side.units ? shared.units[at] : 0;
        }
        for (uint32_t r = thread.row; r < side.room; r += PACKED_BATCH * side.together) {
            packed_row row[PACKED_BATCH];
            uint32_t held[PACKED_BATCH];
            packed_rows(shared.store + r, side.together, row);
#pragma unroll
            for (int k = 0; k < PACKED_BATCH; k++) {
                const uint32_t phase =
                    ((uint32_t)(uintptr_t)(place.out + row[k].at) & 3) / (uint32_t)sizeof(unit);
                if (packed_there(last, row[k])) {
                    const char *from = tile + packed_place_in(row[k]);
                    held[k] = 0;
#pragma unroll
                    for (int j = 0; j < N; j++) {
                        uint32_t at = near[j + N - 1];
#pragma unroll
                        for (uint32_t p = 1; p < N; p++) {
                            at = phase == p ? near[j + N - 1 - p] : at;
                        }
                        held[k] |= (uint32_t) * (const unit *)(from + at)
                                   << 8 * (int)sizeof(unit) * j;
                    }
                }
            }
#pragma unroll
            for (int k = 0; k < PACKED_BATCH; k++) {
                if (packed_there(last, row[k])) {
                    char *to = place.out + row[k].at;
                    const uint32_t phase = (uint32_t)(uintptr_t)to & 3;
                    const int32_t first = (int32_t)(u * N - phase / (uint32_t)sizeof(unit));
                    to += (int32_t)(u * 4 - phase);
                    if (first >= 0 && first + N <= (int32_t)limit) {
                        *(uint32_t *)to = held[k];
                    } else {
                        packed_store_part<unit>(to, held[k], first, limit);
                    }
                }
            }
        }
    }
}

template <typename unit, typename word, bool SQUARES>
GM_DEVICE void packed_store_side(const permute_packed_args &a, const packed_place &place,
                                 packed_thread thread, const packed_shared &shared,
                                 const char *tile)
{
    if (a.store.along) {
        packed_store<unit, word, SQUARES, true>(a, place, thread, shared, tile);
    } else {
        packed_store<unit, word, SQUARES, false>(a, place, thread, shared, tile);
    }
}

template <typename unit>
GM_DEVICE void packed_store_words(const permute_packed_args &a, const packed_place &place,
                                  packed_thread thread, const packed_shared &shared,
                                  const char *tile)
{
    if constexpr (sizeof(unit) < 4) {
        if (a.store.shifted) {
            packed_store_shifted<unit>(a, place, thread, shared, tile);
            return;
        }
        if (a.store.word == 4) {
            if (a.squared < PACKED_DIMS) {
                packed_store_side<unit, uint32_t, true>(a, place, thread, shared, tile);
            } else {
                packed_store_side<unit, uint32_t, false>(a, place, thread, shared, tile);
            }
            return;
        }
    }
    packed_store_side<unit, unit, false>(a, place, thread, shared, tile);
}

/* ---- the tiles of a block ------------------------------------------------------------------ */

/* Where a tile begins on chip: as far from a word as in memory, if rows are. */
template <typename unit>
GM_DEVICE char *packed_tile(const permute_packed_args &a, char *buffer, const packed_place &place)
{
    const bool shifted = sizeof(unit) < 4 && a.load.shifted;
    return buffer + (shifted ? (uint32_t)(uintptr_t)place.in & 3 : 0);
}

template <typename unit> GM_DEVICE void packed_move(const permute_packed_args &a, char *memory)
{
    const packed_shared shared = packed_share(a, memory);
    const packed_thread load = packed_thread_of(a.load), store = packed_thread_of(a.store);
    uint32_t loaded = 0, even = 0; /* which of the places, and of the tiles */

    packed_prepare(a, shared);
    __syncthreads();
    gm_wait_for_previous();
    for (uint32_t index = blockIdx.x;; index += gridDim.x) { /* the tile to load */
        if (index < a.tiles) {
            const packed_place place = shared.places[loaded];
            char *tile = packed_tile<unit>(a, shared.tiles + even * a.buffer, place);
            packed_load_words<unit>(a, place, load, shared.load, tile);
        }
        __pipeline_commit();
        even ^= 1;
        const uint32_t next = loaded < 2 ? loaded + 1 : 0;
        if (index != blockIdx.x) { /* the tile before it is stored */
            if (threadIdx.x < 32 && index + gridDim.x < a.tiles) {
                packed_find(a, shared, index + gridDim.x, shared.places + next);
            }
            gm_pipeline_wait_prior<1>();
            __syncthreads();
            const packed_place before = shared.places[loaded > 0 ? loaded - 1 : 2];
            const char *tile = packed_tile<unit>(a, shared.tiles + even * a.buffer, before);
            packed_store_words<unit>(a, before, store, shared, tile);
            __syncthreads();
        }
        if (index >= a.tiles) {
            break;
        }
        loaded = next;
    }
}

/* The loop over tiles is inside of each case: what one keeps in registers is not in another's way.
 */
GM_KERNEL_BOUNDED(permute_packed_small, permute_packed_args, PACKED_THREADS, PACKED_SMALL_BLOCKS)
{
    GM_DYNAMIC_SHARED(char, memory);
    switch (a.unit) {
    case 1: packed_move<uint8_t>(a, memory); break;
    case 2: packed_move<uint16_t>(a, memory); break;
    }
}

/* Fewer registers, more blocks. */
GM_KERNEL_BOUNDED(permute_packed_words, permute_packed_args, PACKED_THREADS, PACKED_WORDS_BLOCKS)
{
    GM_DYNAMIC_SHARED(char, memory);
    switch (a.unit) {
    case 4: packed_move<uint32_t>(a, memory); break;
    case 8: packed_move<uint2>(a, memory); break;
    case 16: packed_move<uint4>(a, memory); break;
    }
}
