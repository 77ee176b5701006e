/* packed: from a tile in shared memory to rows of the result. */
#ifndef GPUMEM_PERMUTE_PACKED_STORE_H
#define GPUMEM_PERMUTE_PACKED_STORE_H

#include "packed_tables.h"
#include "squares.h"

/* N units, as a word; SQUARES: N words of N units each, as N words of the result. */
template <typename unit, typename word, int N, bool SQUARES>
GM_DEVICE void packed_gather(uint32_t row, const packed_address (&units)[N],
                             word (&held)[SQUARES ? N : 1])
{
    if constexpr (N == 1) {
        held[0] = packed_read<unit>(units[0] + row);
    } else if constexpr (SQUARES) {
        uint32_t rows[N];
#pragma unroll
        for (int j = 0; j < N; j++) {
            rows[j] = packed_read<uint32_t>(units[j] + row);
        }
        transpose_words(rows, held);
    } else {
        held[0] = 0;
#pragma unroll
        for (int j = 0; j < N; j++) {
            held[0] |= (word)packed_read<unit>(units[j] + row) << j * 8 * (int)sizeof(unit);
        }
    }
}

template <typename unit, typename word, bool SQUARES, bool ALONG, bool HALO>
GM_DEVICE void packed_store(const permute_packed_args &a, const packed_place &place,
                            packed_thread thread, const packed_shared &shared, packed_address tile)
{
    enum { N = sizeof(word) / sizeof(unit), EACH = SQUARES ? N : 1 };
    enum { BATCH = sizeof(word) * EACH == 16 ? PACKED_BATCH / 2 : PACKED_BATCH };
    enum { AT_ONCE = SQUARES || (N == 4 && !ALONG) };
    const permute_packed_side &side = a.store;
    const uint32_t last = place.last << 16 | PACKED_THERE, limit = packed_limit(side, place.last);
    const uint32_t step = ALONG ? 1 : BATCH * side.together;
    const packed_sectors sectors = packed_sectors_of(a, place);

    for (uint32_t u = thread.u; u < limit; u += (ALONG ? BATCH : 1) * blockDim.x) {
        word *to[EACH];
        packed_address units[ALONG ? BATCH : 1][N];
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            to[j] = (word *)place.out + u + (int64_t)j * a.square_step;
            packed_settle_global(to[j]);
        }
#pragma unroll
        for (int k = 0; k < (ALONG ? BATCH : 1); k++) {
            const uint32_t at = u + k * blockDim.x;
            if (at < limit) {
                packed_find_units(shared, tile, at, units[k]);
            }
        }
#pragma unroll 1
        for (uint32_t r = thread.row; r < side.rows; r += step) {
            packed_row row[ALONG ? 1 : BATCH];
            word held[BATCH][EACH];
            packed_rows(shared.store + r, side.together, row);
            const bool at_once = AT_ONCE && r + (BATCH - 1) * side.together < side.rows;
            if constexpr (AT_ONCE) {
                if (at_once) { /* no branch stands between the loads of all rows */
#pragma unroll
                    for (int k = 0; k < BATCH; k++) {
                        /* The tile's first row, which is always there, for one that is not. */
                        const uint32_t at =
                            packed_there(last, row[k]) ? packed_place_in(row[k]) : 0;
                        packed_gather<unit, word, N, SQUARES>(at, units[0], held[k]);
                        packed_settle_words(held[k]);
                    }
                }
            }
            if (!at_once) {
#pragma unroll
                for (int k = 0; k < BATCH; k++) {
                    const packed_row &one = row[ALONG ? 0 : k];
                    if (packed_there(last, one) && (!ALONG || u + k * blockDim.x < limit)) {
                        packed_gather<unit, word, N, SQUARES>(packed_place_in(one),
                                                              units[ALONG ? k : 0], held[k]);
                    }
                }
            }
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                const packed_row &one = row[ALONG ? 0 : k];
                const int32_t on = ALONG ? k * blockDim.x : 0;
                const bool there = packed_there(last, one) & (!ALONG || u + on < limit);
#pragma unroll
                for (int j = 0; j < EACH; j++) {
                    const int32_t at = ((int32_t)u + on) * (int32_t)sizeof(word);
                    const uint32_t low = (uint32_t)(uintptr_t)to[j] +
                                         (uint32_t)(one.at + on) * (uint32_t)sizeof(word);
                    if (there & (!HALO || packed_writes(sectors, at, low))) {
                        to[j][one.at + on] = held[k][j];
                    }
                }
            }
        }
    }
}

template <typename unit, typename word, bool SQUARES>
GM_DEVICE void packed_store_side(const permute_packed_args &a, const packed_place &place,
                                 packed_thread thread, const packed_shared &shared,
                                 packed_address tile)
{
    if (!SQUARES && a.store.along) {
        if (a.halo) {
            packed_store<unit, word, false, true, true>(a, place, thread, shared, tile);
        } else {
            packed_store<unit, word, false, true, false>(a, place, thread, shared, tile);
        }
    } else if (a.halo) {
        packed_store<unit, word, SQUARES, false, true>(a, place, thread, shared, tile);
    } else {
        packed_store<unit, word, SQUARES, false, false>(a, place, thread, shared, tile);
    }
}

template <typename unit>
GM_DEVICE void packed_store_words(const permute_packed_args &a, const packed_place &place,
                                  packed_thread thread, const packed_shared &shared,
                                  packed_address tile)
{
    if constexpr (sizeof(unit) < 4) {
        if (a.store.word == 4) {
            packed_store_side<unit, uint32_t, false>(a, place, thread, shared, tile);
            return;
        }
    }
    packed_store_side<unit, unit, false>(a, place, thread, shared, tile);
}

#endif
