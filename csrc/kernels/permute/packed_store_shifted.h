/*
 * packed: from a tile in shared memory to rows of the result that begin anywhere in words.
 *
 * A thread gathers units at a fixed place of the row, and makes the aligned word of memory from
 * these and its left neighbour's. Example, bytes of a row that begins 1 byte beyond a word:
 *
 *     gathered, thread by thread   |a b c d|e f g h|i j . .|
 *     stored                       |. a b c|d e f g|h i j .|
 *
 * Warps     overlap: the first lane of one gathers what the last lane of the one before does, for
 *           its neighbour, and stores nothing.
 * Squares   a thread gathers for N rows at once. On chip the units of these rows are neighbours: a
 *           word from there has one unit for each row. It is joined from two, if it is not aligned.
 * Chains    where these rows follow each other in memory, a row's last word is completed with what
 *           the next row begins with; each row's table goes on into the next one.
 * Ends      of other rows are stored unit by unit, after all words, by a thread for each row: a
 * warp has the end of a row in most of its words, and would go the longer way for each of them.
 */
#ifndef GPUMEM_PERMUTE_PACKED_STORE_SHIFTED_H
#define GPUMEM_PERMUTE_PACKED_STORE_SHIFTED_H

#include "packed_tables.h"
#include "squares.h"

/* Threads whose words are stored: others gather for their neighbours. */
GM_DEVICE uint32_t packed_fresh()
{
    return PACKED_FRESH(blockDim.x);
}

GM_DEVICE packed_thread packed_shifted_thread(const permute_packed_side &side)
{
    const uint32_t index = threadIdx.x - threadIdx.x / 32;
    packed_thread thread = {index, 0};
    if (side.run < packed_fresh()) {
        thread.row = index / side.run;
        thread.u = index % side.run;
        if (thread.row >= side.together) {
            thread = {side.run, 0};
        }
    }
    return thread;
}

/* N units of each of some rows, or of N times as many: `at` is where these begin on chip. */
template <typename unit, int N, bool SQUARES, int ROWS>
GM_DEVICE void packed_gather_shifted(const uint32_t (&at)[ROWS], const packed_address (&units)[N],
                                     bool unaligned, uint32_t (&held)[ROWS][SQUARES ? N : 1])
{
    if constexpr (SQUARES) {
        uint32_t words[ROWS][N];
        packed_read_words(at, units, unaligned, words);
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            transpose_words(words[k], held[k]);
        }
    } else {
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            held[k][0] = 0;
#pragma unroll
            for (int j = 0; j < N; j++) {
                held[k][0] |= (uint32_t)packed_read<unit>(units[j] + at[k])
                              << 8 * (int)sizeof(unit) * j;
            }
        }
    }
}

/* Of a lane of the warp: in a chain, what the next row begins with is not at words. */
template <int N> GM_DEVICE bool packed_any_unaligned(const packed_address (&units)[N])
{
    packed_address bits = 0;
#pragma unroll
    for (int j = 0; j < N; j++) {
        bits |= units[j];
    }
    return __any_sync(0xffffffffu, bits % 4 != 0);
}

/* Which of the words of rows are stored whole, and what rows have beside these. */
struct packed_ends {
    uint32_t limit; /* bytes of a row */
    /* Words of a row that begin before so many bytes are stored: of those in a chain that another
     * row follows, and of others. */
    uint32_t inner, outer;
    uint32_t rows_bit; /* see packed_row */
    bool chained;
};

template <typename unit, bool SQUARES>
GM_DEVICE packed_ends packed_ends_of(const permute_packed_args &a, uint32_t last)
{
    const permute_packed_side &side = a.store;
    packed_ends ends;
    ends.limit = (last & side.last_bit ? side.last : side.units) * (uint32_t)sizeof(unit);
    ends.outer = ends.limit < 4 ? 0 : ends.limit - 3;
    ends.chained = SQUARES && a.chained;
    ends.inner = ends.chained ? ends.limit : ends.outer;
    ends.rows_bit =
        SQUARES && last & a.axis[a.squared].ragged ? PACKED_LAST_ROWS : PACKED_ROWS_LEFT;
    return ends;
}

/* What rows have before their first whole word, and behind the last one: a thread for each row. */
template <typename unit, bool SQUARES>
GM_DEVICE void packed_store_ends(const permute_packed_args &a, const packed_place &place,
                                 const packed_shared &shared, uint32_t begin)
{
    enum { SIZE = sizeof(unit), EACH = SQUARES ? 4 / SIZE : 1, PARTS = 4 / SIZE - 1 };
    const packed_ends ends = packed_ends_of<unit, SQUARES>(a, place.last);
    const uint32_t last = place.last << 16 | PACKED_THERE;
    const packed_address tile = packed_address_of(shared.tiles) + begin;
    char *out = place.out;
    packed_settle_global(out);
    uint32_t first_units[PARTS], last_units[PARTS];
#pragma unroll
    for (uint32_t k = 0; k < PARTS; k++) {
        const uint32_t units = ends.limit / SIZE;
        first_units[k] = shared.units[k];
        last_units[k] = shared.units[k < units ? units - 1 - k : 0];
    }
    /* The last warps first: these often have no words. */
    for (uint32_t i = blockDim.x - 1 - threadIdx.x; i < a.store.rows * EACH; i += blockDim.x) {
        const uint32_t j = i % EACH;
        packed_row row[1];
        packed_rows(shared.store + i / EACH, 0, row);
        const uint32_t left = SQUARES ? row[0].bits >> ends.rows_bit & 7 : 1;
        const bool begins = !ends.chained || (j == 0 && row[0].bits & PACKED_FIRST_ROW);
        const bool breaks = !ends.chained || j + 1 == left;
        if (j >= left || !packed_there(last, row[0]) || !(begins || breaks)) {
            continue;
        }
        char *to = out + (row[0].at + (int32_t)j * a.square_step);
        const packed_address from = tile + packed_place_in(row[0]) + j * SIZE;
        const uint32_t here = (uint32_t)(uintptr_t)to;
        uint32_t before = min((0 - here) & 3, ends.limit);
        uint32_t behind = min((here + ends.limit) & 3, ends.limit - before);
        before = begins ? before : 0;
        behind = breaks ? behind : 0;
#pragma unroll
        for (uint32_t k = 0; k < PARTS; k++) {
            if (k * SIZE < before) {
                *(unit *)(to + k * SIZE) = packed_read<unit>(from + first_units[k]);
            }
            if (k * SIZE < behind) {
                *(unit *)(to + (ends.limit - (k + 1) * SIZE)) =
                    packed_read<unit>(from + last_units[k]);
            }
        }
    }
}

/* Which words of rows a thread stores: those of rows that begin further behind an aligned word than
 * `least` bytes. Of the first word of a row, which is whole if the row begins at one, these bytes
 * are counted down from 3. */
struct packed_whole {
    int32_t least;
    uint32_t flip;
};

/* Word u of rows: whole if it does not begin before them, nor `limit` bytes from there or more. Or
 * none, of a thread that gathers for its neighbour. */
GM_DEVICE packed_whole packed_whole_of(uint32_t u, uint32_t limit, bool stores)
{
    packed_whole whole = {(int32_t)(u * 4 - limit), 0};
    if (u == 0) {
        whole = {limit > 0 ? 2 : 3, 3};
    }
    whole.least = stores ? whole.least : 3;
    return whole;
}

/* Is it, of a row whose bytes begin at `at`? */
GM_DEVICE bool packed_is_whole(const packed_whole &whole, uint32_t at)
{
    return (int32_t)((at ^ whole.flip) & 3) > whole.least;
}

template <typename unit, bool SQUARES>
GM_DEVICE void packed_store_shifted(const permute_packed_args &a, const packed_place &place,
                                    packed_thread thread, const packed_shared &shared,
                                    uint32_t begin)
{
    enum { N = 4 / sizeof(unit), EACH = SQUARES ? N : 1, BATCH = SQUARES ? 2 : PACKED_BATCH };
    const permute_packed_side &side = a.store;
    const uint32_t last = place.last << 16 | PACKED_THERE;
    const uint32_t phase = (uint32_t)(uintptr_t)place.out & 3;
    const packed_ends ends = packed_ends_of<unit, SQUARES>(a, place.last);
    const packed_address tile = packed_address_of(shared.tiles) + begin;
    const uint32_t all = ends.chained ? EACH + 1 : EACH; /* rows left that make squares whole */

    /* All lanes take part in shuffles, those beyond the row, too; warps beyond it rest. The warp's
     * number is shuffled, too: the compiler then knows that its lanes stay together. */
    const uint32_t warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0) * 31;
    const uint32_t busy = side.run < packed_fresh() ? side.run * side.together : side.run;
    for (uint32_t on = 0; on + warp + 1 < busy;
         on += packed_fresh()) { /* rows have 8 bytes or more */
        const uint32_t u = thread.u + on;
        const bool stores = u < side.run && (threadIdx.x % 32 > 0 || (threadIdx.x == 0 && u == 0));
        const packed_whole inner = packed_whole_of(u, ends.inner, stores);
        uint32_t *out = (uint32_t *)(place.out - phase) + u;
        packed_address units[N];
        packed_settle_global(out);
        packed_find_units(shared, tile, u < side.run ? u : 0, units);
        const bool unaligned = a.unaligned || (ends.chained && packed_any_unaligned(units));
        for (uint32_t first = 0; first < side.rows; first += BATCH * side.together) {
            packed_row row[BATCH];
            uint32_t held[BATCH][EACH], places[BATCH];
            packed_rows(shared.store + (first + thread.row), side.together, row);
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                places[k] = packed_place_in(row[k]);
            }
            packed_gather_shifted<unit, N, SQUARES>(places, units, unaligned, held);
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                const uint32_t at = phase + (uint32_t)row[k].at;
                const uint32_t left = SQUARES ? row[k].bits >> ends.rows_bit & 7 : 1;
                const bool there = packed_there(last, row[k]);
#pragma unroll
                for (uint32_t j = 0; j < EACH; j++) {
                    const uint32_t before = __shfl_up_sync(0xffffffffu, held[k][j], 1);
                    held[k][j] = __funnelshift_l(before, held[k][j], (at + j * a.square_step) * 8);
                }
#pragma unroll
                for (uint32_t j = 0; j < EACH; j++) { /* the usual case: predicates, no branch */
                    const uint32_t begins = at + j * a.square_step;
                    if (there & (left >= all) & packed_is_whole(inner, begins)) {
                        out[(int32_t)begins >> 2] = held[k][j];
                    }
                }
                if (SQUARES && there && left < all) {
                    const packed_whole outer = packed_whole_of(u, ends.outer, stores);
#pragma unroll
                    for (uint32_t j = 0; j < EACH; j++) {
                        const uint32_t begins = at + j * a.square_step;
                        if (j < left && packed_is_whole(j + 1 < left ? inner : outer, begins)) {
                            out[(int32_t)begins >> 2] = held[k][j];
                        }
                    }
                }
            }
        }
    }
    packed_store_ends<unit, SQUARES>(a, place, shared, begin);
}

template <typename unit>
GM_DEVICE void packed_store_anywhere(const permute_packed_args &a, const packed_place &place,
                                     packed_thread thread, const packed_shared &shared,
                                     uint32_t begin)
{
    if (a.squared < PACKED_DIMS) {
        packed_store_shifted<unit, true>(a, place, thread, shared, begin);
    } else {
        packed_store_shifted<unit, false>(a, place, thread, shared, begin);
    }
}

#endif
