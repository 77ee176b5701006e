/*
 * permute / shifted, of a result with gaps between its rows, such as a block of a larger array.
 *
 * A row of the result begins anywhere, and so does its row of the input. Threads have aligned
 * vectors of the result, as many for each row as any row has a part of. The first and the last of a
 * row are stored in narrower accesses, up to its ends.
 */
#ifndef GPUMEM_PERMUTE_SHIFTED_GAPS_H
#define GPUMEM_PERMUTE_SHIFTED_GAPS_H

#include "shifted_part.h"

enum { GAPS_THREADS = 256, GAPS_UNROLL = 2 /* vectors of a thread */ };

/* A vector at byte `at` of a row: bytes `begin` to `end` are of that. */
template <typename way> struct gaps_vector {
    typename way::part part;
    char *to;
    int32_t at;
    int begin, end;
};

template <typename way>
GM_DEVICE gaps_vector<way> gaps_load(const permute_shifted_args &a, uint32_t at)
{
    const char *from = a.in;
    char *row = a.out;
    const uint32_t number = permute_take(&at, a.vectors); /* at: of the row, from here on */
    permute_move_to(a.outer, at, &from, &row);
    const int lead = (int)((uintptr_t)row % VECTOR);
    const int64_t first = (int64_t)number * VECTOR - lead, run = a.run.by;
    gaps_vector<way> v;
    v.to = row + first;
    v.at = (int32_t)first;
    v.begin = (int)max(-first, (int64_t)0);
    v.end = (int)min(run - first, (int64_t)VECTOR);
    v.end = v.end > v.begin ? v.end : v.begin;
    v.part = shifted_load_part<false>(way(), a, way::BACKWARDS ? from + a.backwards : from, first,
                                      v.begin, v.end);
    return v;
}

template <typename way>
GM_DEVICE void gaps_move_rows(const permute_shifted_args &a, const uint32_t (*select)[4])
{
    const int64_t first = (int64_t)blockIdx.x * (GAPS_THREADS * GAPS_UNROLL) + threadIdx.x;
    gaps_vector<way> held[GAPS_UNROLL];
#pragma unroll
    for (int k = 0; k < GAPS_UNROLL; k++) {
        held[k].begin = held[k].end = 0;
        if (first + k * GAPS_THREADS < a.count) {
            held[k] = gaps_load<way>(a, (uint32_t)(first + k * GAPS_THREADS));
        }
    }
#pragma unroll
    for (int k = 0; k < GAPS_UNROLL; k++) {
        if (held[k].begin < held[k].end) {
            shifted_store(held[k].to, shifted_join_part(way(), a, select, held[k].part, held[k].at),
                          held[k].begin, held[k].end);
        }
    }
}

template <template <bool> class way>
GM_DEVICE void gaps_move(const permute_shifted_args &a, const uint32_t (*select)[4])
{
    if (a.backwards > 0) {
        gaps_move_rows<way<true>>(a, select);
    } else {
        gaps_move_rows<way<false>>(a, select);
    }
}

#endif
