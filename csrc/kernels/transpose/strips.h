/*
 * The other side of a narrow matrix of elements of 1 or 2 bytes: runs of its columns, or rows, in
 * words of N elements. Words are aligned; those at the ends of a run may have elements of others.
 */
#ifndef GPUMEM_TRANSPOSE_STRIPS_H
#define GPUMEM_TRANSPOSE_STRIPS_H

#include "linear_tile.h"
#include "register_tile.h"

enum { RUNS_WARPS = FLAT_THREADS / 32 };

/* What of a word is inside of a run: elements `first` to `last` - 1. */
typedef struct runs_part {
    int first, last;
} runs_part;

/* The word whose first element is number k of a run of `here`. */
template <typename unit> GM_DEVICE runs_part runs_part_of(int k, unsigned here)
{
    const int N = 4 / sizeof(unit);
    runs_part part;
    part.first = max(-k, 0);
    part.last = min((int)here - k, N);
    return part;
}

template <typename unit> GM_DEVICE uint32_t runs_load_word(const char *from, runs_part part)
{
    const int size = sizeof(unit), N = 4 / size;
    uint32_t word = 0;
    if (part.first == 0 && part.last == N) {
        return *(const uint32_t *)from;
    }
#pragma unroll
    for (int i = 0; i < N; i++) {
        if (i >= part.first && i < part.last) {
            word |= (uint32_t)((const unit *)from)[i] << 8 * size * i;
        }
    }
    return word;
}

template <typename unit> GM_DEVICE void runs_store_word(char *to, runs_part part, uint32_t word)
{
    const int size = sizeof(unit), N = 4 / size;
    if (part.first == 0 && part.last == N) {
        *(uint32_t *)to = word;
        return;
    }
#pragma unroll
    for (int i = 0; i < N; i++) {
        if (i >= part.first && i < part.last) {
            ((unit *)to)[i] = (unit)(word >> 8 * size * i);
        }
    }
}

GM_DEVICE void runs_turn(const uint32_t (&rows)[4], uint32_t (&turned)[4])
{
    transpose_bytes(rows[0], rows[1], rows[2], rows[3], turned);
}

GM_DEVICE void runs_turn(const uint32_t (&rows)[2], uint32_t (&turned)[2])
{
    turned[0] = __byte_perm(rows[0], rows[1], 0x5410);
    turned[1] = __byte_perm(rows[0], rows[1], 0x7632);
}

#endif
