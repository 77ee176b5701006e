/* packed: from rows of the input to a tile in shared memory. */
#ifndef GPUMEM_PERMUTE_PACKED_LOAD_H
#define GPUMEM_PERMUTE_PACKED_LOAD_H

#include "packed_tables.h"

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

#endif
