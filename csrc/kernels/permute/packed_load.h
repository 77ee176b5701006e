/* packed: from rows of the input to a tile in shared memory. */
#ifndef GPUMEM_PERMUTE_PACKED_LOAD_H
#define GPUMEM_PERMUTE_PACKED_LOAD_H

#include "packed_tables.h"

/* ALONG: several words of a row in flight, instead of one of several rows. */
template <typename type, bool ALONG>
GM_DEVICE void packed_load(const permute_packed_args &a, const packed_place &place,
                           packed_thread thread, const packed_row *rows, char *tile)
{
    const permute_packed_side &side = a.load;
    const uint32_t last = place.last << 16 | PACKED_THERE, limit = packed_limit(side, place.last);
    const uint32_t step = ALONG ? 1 : PACKED_BATCH * side.together;

    for (uint32_t u = thread.u; u < limit; u += (ALONG ? PACKED_BATCH : 1) * blockDim.x) {
        const type *from = (const type *)place.in + (int32_t)u * side.step;
        char *to = tile + u * sizeof(type);
        packed_settle_global(from);
#pragma unroll 1
        for (uint32_t r = thread.row; r < side.rows; r += step) {
            packed_row row[ALONG ? 1 : PACKED_BATCH];
            packed_rows(rows + r, side.together, row);
            type held[PACKED_BATCH];
#pragma unroll
            for (int k = 0; k < PACKED_BATCH; k++) {
                const packed_row &one = row[ALONG ? 0 : k];
                const int32_t on = ALONG ? k * blockDim.x : 0;
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
                for (int k = 0; k < PACKED_BATCH; k++) {
                    const packed_row &one = row[ALONG ? 0 : k];
                    const int32_t on = ALONG ? k * blockDim.x : 0;
                    if (packed_there(last, one) && u + on < limit) {
                        *(type *)(to + (packed_place_in(one) + on * sizeof(type))) = held[k];
                    }
                }
            }
        }
    }
}

/* What of a vector is inside of the input's memory. */
GM_DEVICE void packed_load_bytes(const permute_packed_args &a, const char *vector, int size,
                                 char *to)
{
#pragma unroll 1
    for (int j = 0; j < size; j++) {
        if (vector + j >= a.begin && vector + j < a.end) {
            to[j] = vector[j];
        }
    }
}

/* Rows of small units that begin anywhere in vectors of 4, 8 or 16 bytes: whole ones, those at both
 * ends included. Places on chip are as far from whole vectors as those in memory. INSIDE: so
 * far from the ends of memory that all vectors are of it. */
template <typename unit, typename vector, bool INSIDE>
GM_DEVICE void packed_load_vectors(const permute_packed_args &a, const packed_place &place,
                                   packed_thread thread, const packed_row *rows, char *buffer)
{
    enum { BATCH = INSIDE ? PACKED_BATCH : 1 };
    const uint32_t SIZE = sizeof(vector);
    const permute_packed_side &side = a.load;
    const uint32_t last = place.last << 16 | PACKED_THERE;
    const uint32_t units = place.last & side.last_bit ? side.last : side.units;
    const uint32_t limit = units * sizeof(unit), begin = (uint32_t)(uintptr_t)place.in % SIZE;

    for (uint32_t u = thread.u; u < side.run; u += blockDim.x) {
        const char *in = place.in + u * SIZE;
        packed_address tile = packed_address_of(buffer) + (begin + u * SIZE);
        /* Rows that begin so far in a vector, or less, end before this one. */
        const int32_t beyond = (int32_t)(u * SIZE - limit);
        packed_settle_global(in);
        packed_settle(tile);
        for (uint32_t r = thread.row; r < side.rows; r += BATCH * side.together) {
            packed_row row[BATCH];
            packed_rows(rows + r, side.together, row);
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                const uintptr_t at = (uintptr_t)(in + row[k].at);
                const uint32_t phase = at % SIZE;
                /* Both are worked out: a predicate, and no branch. */
                if (packed_there(last, row[k]) & ((int32_t)phase > beyond)) {
                    const char *from = (const char *)(at & ~(uintptr_t)(SIZE - 1));
                    char *to = packed_pointer<char>(tile + packed_place_in(row[k]) - phase);
                    if (INSIDE || (from >= a.begin && from + SIZE <= a.end)) {
                        __pipeline_memcpy_async(to, from, SIZE);
                    } else {
                        packed_load_bytes(a, from, SIZE, to);
                    }
                }
            }
        }
    }
}

template <typename unit, typename vector>
GM_DEVICE void packed_load_shifted(const permute_packed_args &a, const packed_place &place,
                                   packed_thread thread, const packed_row *rows, char *buffer)
{
    const int64_t SIZE = sizeof(vector);
    if (place.in + a.reach_before >= a.begin + SIZE && place.in + a.reach_behind + SIZE <= a.end) {
        packed_load_vectors<unit, vector, true>(a, place, thread, rows, buffer);
    } else {
        packed_load_vectors<unit, vector, false>(a, place, thread, rows, buffer);
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
    if (sizeof(unit) <= 4 && a.load.shifted) {
        if (a.load.word == 16) {
            packed_load_shifted<unit, uint4>(a, place, thread, rows, tile);
        } else if (a.load.word == 8) {
            packed_load_shifted<unit, uint2>(a, place, thread, rows, tile);
        } else if (sizeof(unit) < 4) {
            packed_load_shifted<unit, uint32_t>(a, place, thread, rows, tile);
        }
    } else if (sizeof(unit) < 4 && a.load.word == 4) {
        packed_load_side<uint32_t>(a, place, thread, rows, tile);
    } else {
        packed_load_side<unit>(a, place, thread, rows, tile);
    }
}

#endif
