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
 * Chains    where these rows follow each other in memory, the sector in which a row ends is
 *           completed with what the next row begins with; each row's table goes on into the next.
 * Halo      other rows may be completed with the units behind them, see plan_halo.c.
 * Ends      of rows that nothing completes are stored unit by unit, by a thread for each row: a
 *           warp has the end of a row in most of its words, and would go the longer way for each.
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

/* Where rows begin and end: by themselves, or in a sector that the row before, or this one,
 * completes. */
struct packed_ends {
    uint32_t limit;    /* bytes of a row */
    uint32_t rows_bit; /* see packed_row */
    bool chained;      /* it depends on the row; otherwise, of all rows: */
    bool begins, breaks;
    bool words; /* are completed, not sectors */
};

template <typename unit, bool SQUARES>
GM_DEVICE packed_ends packed_ends_of(const permute_packed_args &a, uint32_t last)
{
    const permute_packed_side &side = a.store;
    packed_ends ends;
    ends.limit = (last & side.last_bit ? side.last : side.units) * (uint32_t)sizeof(unit);
    ends.rows_bit =
        SQUARES && last & a.axis[a.squared].ragged ? PACKED_LAST_ROWS : PACKED_ROWS_LEFT;
    ends.chained = SQUARES && a.chained;
    ends.words = ends.chained && !a.completes;
    ends.begins = a.halo == 0 || last & PACKED_FIRST;
    ends.breaks = a.halo == 0 || last & a.axis[a.halo_axis].ragged;
    return ends;
}

/* Rows that are there from this one on; a single one, if it is not of a square. */
template <bool SQUARES>
GM_DEVICE uint32_t packed_rows_left_of(const packed_ends &ends, const packed_row &row)
{
    return SQUARES ? row.bits >> ends.rows_bit & 7 : 1;
}

/* Row number j of these. */
GM_DEVICE bool packed_begins(const packed_ends &ends, const packed_row &row, uint32_t j)
{
    return ends.chained ? j == 0 && row.bits & PACKED_FIRST_ROW : ends.begins;
}

GM_DEVICE bool packed_breaks(const packed_ends &ends, uint32_t left, uint32_t j)
{
    return ends.chained ? j + 1 == left : ends.breaks;
}

/* What rows have before their first whole word, and behind the last one: a thread for each row. */
template <typename unit, bool SQUARES>
GM_DEVICE void packed_store_ends(const permute_packed_args &a, const packed_place &place,
                                 const packed_shared &shared, uint32_t begin)
{
    enum { SIZE = sizeof(unit), EACH = SQUARES ? 4 / SIZE : 1, PARTS = 4 / SIZE - 1 };
    const packed_ends ends = packed_ends_of<unit, SQUARES>(a, place.last);
    if (!ends.chained && !ends.begins && !ends.breaks) {
        return;
    }
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
        const uint32_t left = packed_rows_left_of<SQUARES>(ends, row[0]);
        const bool begins = packed_begins(ends, row[0], j), breaks = packed_breaks(ends, left, j);
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

/* Which words of a row are stored: those in pieces of `mask` + 1 bytes, a word or a sector, that
 * begin before its byte number `bytes`. */
struct packed_pieces {
    uint32_t mask;
    int32_t bytes;
};

/* Rows that begin, or break, have whole words there; others have whole sectors, or whole words of
 * the next row as well, where these are too short for sectors. */
GM_DEVICE packed_pieces packed_pieces_of(const packed_ends &ends, bool whole)
{
    const int32_t limit = (int32_t)ends.limit;
    return whole ? packed_pieces{3, limit - 3} : packed_pieces{ends.words ? 3u : 31u, limit};
}

/* Is the word at `word` one of these, of a row that begins at `at`? */
GM_DEVICE bool packed_stores(const packed_pieces &pieces, uint32_t word, uint32_t at)
{
    return (word & ~pieces.mask) - at < (uint32_t)max(pieces.bytes, 0);
}

/* The same, of a row whose begin and end differ. */
GM_DEVICE bool packed_stores_between(const packed_pieces &from, const packed_pieces &to,
                                     uint32_t word, uint32_t at)
{
    return ((int32_t)((word & ~from.mask) - at) >= 0) &
           ((int32_t)((word & ~to.mask) - at) < to.bytes);
}

/* Words of a few rows, or squares of rows, that a thread stores: where these begin, counted from a
 * sector. */
template <int BATCH, int EACH> struct packed_batch {
    packed_row row[BATCH];
    uint32_t at[BATCH];
    uint32_t words[BATCH][EACH];
};

/* From words of units to aligned ones of memory, with the left neighbour's. */
template <int BATCH, int EACH>
GM_DEVICE void packed_align(packed_batch<BATCH, EACH> &batch, uint32_t phase, int32_t square_step)
{
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        batch.at[k] = phase + (uint32_t)batch.row[k].at;
#pragma unroll
        for (uint32_t j = 0; j < EACH; j++) {
            uint32_t &word = batch.words[k][j];
            const uint32_t before = __shfl_up_sync(0xffffffffu, word, 1);
            word = __funnelshift_l(before, word, (batch.at[k] + j * square_step) * 8);
        }
    }
}

/* Words number u of rows. `stored(k, j, word, at)` tells of each whether it is, and costs no
 * branch. */
template <int BATCH, int EACH, typename condition>
GM_DEVICE void packed_store_batch(const packed_batch<BATCH, EACH> &batch, char *sectors, uint32_t u,
                                  int32_t square_step, condition stored)
{
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
#pragma unroll
        for (uint32_t j = 0; j < EACH; j++) {
            const uint32_t at = batch.at[k] + j * square_step, word = at + u * 4;
            if (stored(k, j, word, at)) {
                *(uint32_t *)(sectors + (int32_t)(word & ~3u)) = batch.words[k][j];
            }
        }
    }
}

/* Are rows as most are? Not the first and the last of a chain; those that are nowhere are, too. */
template <bool SQUARES, int BATCH, int EACH>
GM_DEVICE bool packed_alike(const permute_packed_args &a, const packed_ends &ends, uint32_t last,
                            const packed_batch<BATCH, EACH> &batch)
{
    const uint32_t all = ends.chained ? EACH + 1 : EACH; /* rows left of a square like others */
    bool alike = ends.chained || ends.begins == ends.breaks;
#pragma unroll
    for (int k = 0; SQUARES && k < BATCH; k++) {
        const packed_row &row = batch.row[k];
        const bool begins = a.completes && row.bits & PACKED_FIRST_ROW;
        alike &=
            !packed_there(last, row) | (packed_rows_left_of<SQUARES>(ends, row) >= all && !begins);
    }
    return alike;
}

template <typename unit, bool SQUARES>
GM_DEVICE void packed_store_shifted(const permute_packed_args &a, const packed_place &place,
                                    packed_thread thread, const packed_shared &shared,
                                    uint32_t begin)
{
    enum { N = 4 / sizeof(unit), EACH = SQUARES ? N : 1, BATCH = SQUARES ? 2 : PACKED_BATCH };
    const permute_packed_side &side = a.store;
    const uint32_t last = place.last << 16 | PACKED_THERE;
    const uint32_t phase = (uint32_t)(uintptr_t)place.out % 32;
    const packed_ends ends = packed_ends_of<unit, SQUARES>(a, place.last);
    const packed_address tile = packed_address_of(shared.tiles) + begin;
    const packed_pieces completed = packed_pieces_of(ends, false);
    const packed_pieces own = packed_pieces_of(ends, true);
    /* Most rows are alike: all but those of which only one end is completed. */
    const bool neither = !ends.chained && ends.begins && ends.breaks;
    const packed_pieces both = neither ? own : completed;
    char *sectors = place.out - phase;
    packed_settle_global(sectors);

    /* All lanes take part in shuffles, those beyond the row, too; warps beyond it rest. The warp's
     * number is shuffled, too: the compiler then knows that its lanes stay together. */
    const uint32_t warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0) * 31;
    const uint32_t busy = side.run < packed_fresh() ? side.run * side.together : side.run;
    for (uint32_t on = 0; on + warp + 1 < busy;
         on += packed_fresh()) { /* rows have 8 bytes or more */
        const uint32_t u = thread.u + on;
        const bool stores = u < side.run && (threadIdx.x % 32 > 0 || (threadIdx.x == 0 && u == 0));
        packed_address units[N];
        packed_find_units(shared, tile, u < side.run ? u : 0, units);
        const bool unaligned = a.unaligned || (ends.chained && packed_any_unaligned(units));
        for (uint32_t first = 0; first < side.rows; first += BATCH * side.together) {
            packed_batch<BATCH, EACH> batch;
            uint32_t places[BATCH];
            packed_rows(shared.store + (first + thread.row), side.together, batch.row);
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                places[k] = packed_place_in(batch.row[k]);
            }
            packed_gather_shifted<unit, N, SQUARES>(places, units, unaligned, batch.words);
            packed_align(batch, phase, a.square_step);
            const auto there = [&](int k) { return stores & packed_there(last, batch.row[k]); };
            if (packed_alike<SQUARES>(a, ends, last, batch)) {
                packed_store_batch(batch, sectors, u, a.square_step,
                                   [&](int k, uint32_t, uint32_t word, uint32_t at) {
                                       return there(k) & packed_stores(both, word, at);
                                   });
            } else {
                packed_store_batch(
                    batch, sectors, u, a.square_step,
                    [&](int k, uint32_t j, uint32_t word, uint32_t at) {
                        const uint32_t left = packed_rows_left_of<SQUARES>(ends, batch.row[k]);
                        const bool begins = packed_begins(ends, batch.row[k], j);
                        const bool breaks = packed_breaks(ends, left, j);
                        return there(k) & (j < left) &
                               packed_stores_between(begins ? own : completed,
                                                     breaks ? own : completed, word, at);
                    });
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
