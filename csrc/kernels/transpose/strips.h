/*
 * Strips of a narrow matrix of elements of 1 or 2 bytes, in words of N elements.
 *
 *      linear tile (few columns)             strips of the output
 *      N rows by N columns are a square      word k of strip c: rows k * N to k * N + N - 1
 *      +----+----+-- -                       +----+----+----+-- -
 *      | sq | sq |      rows of lane 0       | l0 | l1 | l2 |       strip 0  |
 *      +----+----+-- -                       +----+----+----+-- -            |  N at a time
 *      | sq | sq |      rows of lane 1       | l0 | l1 | l2 |       strip 1  |
 *
 * thread  a square: N words of N rows, transposed in registers to a word of each of N strips.
 * warp    32 neighbouring words of N strips: a step. A warp takes steps one after the other.
 * block   warps share the steps of all strips evenly.
 *
 * Words of a strip are aligned in memory; those at its ends may have elements of others.
 */
#ifndef GPUMEM_TRANSPOSE_STRIPS_H
#define GPUMEM_TRANSPOSE_STRIPS_H

#include "linear_tile.h"
#include "register_tile.h"

enum { STRIPS_WARPS = LINEAR_THREADS / 32 };

/* The part of a word inside of a strip: elements `first` to `last` - 1. */
typedef struct strip_part {
    int first, last;
} strip_part;

/* Of the word whose first element is number k of a strip of `length`. */
template <typename unit> GM_DEVICE strip_part strip_part_of(int k, unsigned length)
{
    const int N = 4 / sizeof(unit);
    strip_part part;
    part.first = max(-k, 0);
    part.last = min((int)length - k, N);
    return part;
}

/* ---- words, also those at an end of a strip ------------------------------------------------ */

template <typename unit> GM_DEVICE uint32_t strip_load_word(const char *from, strip_part part)
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

template <typename unit> GM_DEVICE void strip_store_word(char *to, strip_part part, uint32_t word)
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

#endif
