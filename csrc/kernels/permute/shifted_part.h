/*
 * permute: what a vector of the result has of a row of the input, which begins anywhere and may run
 * backwards.
 */
#ifndef GPUMEM_PERMUTE_SHIFTED_PART_H
#define GPUMEM_PERMUTE_SHIFTED_PART_H

#include "join.h"
#include "permute.h"

enum { VECTOR = 16 /* bytes */ };

/* What a vector of the result has of a row: from byte `shift` of two vectors on. */
struct shifted_part {
    uint4 low, high;
    int shift;
};

/* Rows of units one behind the other, in either direction. */
template <bool BACKWARDS_> struct shifted_units {
    typedef shifted_part part;
    static constexpr bool BACKWARDS = BACKWARDS_, PIXELS = false;
    static constexpr int BESIDE = VECTOR;    /* bytes of memory that are loaded, or less */
    static constexpr int PICKED = 1, OF = 1; /* bytes of the result for bytes of the input */
};

/* Byte by byte: the last byte becomes `in`, all others move down by one. */
GM_DEVICE void shifted_push(uint4 &v, uint32_t in)
{
    v.x = __funnelshift_r(v.x, v.y, 8);
    v.y = __funnelshift_r(v.y, v.z, 8);
    v.z = __funnelshift_r(v.z, v.w, 8);
    v.w = v.w >> 8 | in << 24;
}

/* An aligned vector, if it has any of the bytes that are wanted. INSIDE: it is of the memory. */
template <bool INSIDE>
GM_DEVICE uint4 shifted_load(const permute_shifted_args &a, const char *at, bool wanted)
{
    uint4 v = make_uint4(0, 0, 0, 0);
    if (!wanted) {
        return v;
    }
    if constexpr (INSIDE) {
        return *(const uint4 *)at;
    }
    if (at >= a.begin && at + VECTOR <= a.end) {
        return *(const uint4 *)at;
    }
#pragma unroll 1
    for (int i = 0; i < VECTOR; i++) {
        shifted_push(v, at + i >= a.begin && at + i < a.end ? (unsigned char)at[i] : 0);
    }
    return v;
}

/* Bytes `begin` to `end` of the vector at byte `at` of a row. Backwards, the window of memory that
 * has them has those of the vector's end first. */
template <bool INSIDE, bool BACKWARDS>
GM_DEVICE shifted_part shifted_load_part(shifted_units<BACKWARDS>, const permute_shifted_args &a,
                                         const char *row, int64_t at, int begin, int end)
{
    const char *const from = BACKWARDS ? row - at - VECTOR : row + at;
    if (BACKWARDS) {
        const int first = VECTOR - end;
        end = VECTOR - begin;
        begin = first;
    }
    const int shift = (int)((uintptr_t)from % VECTOR);
    const char *aligned = from - shift;
    shifted_part part;
    part.shift = shift;
    part.low = shifted_load<INSIDE>(a, aligned, begin < end && begin < VECTOR - shift);
    part.high = shifted_load<INSIDE>(a, aligned + VECTOR, begin < end && end > VECTOR - shift);
    return part;
}

template <bool BACKWARDS>
GM_DEVICE uint4 shifted_join_part(shifted_units<BACKWARDS>, const permute_shifted_args &a,
                                  const uint32_t (*)[4], const shifted_part &part, int64_t)
{
    const uint4 v = gm_join(part.low, part.high, (uint32_t)part.shift);
    return !BACKWARDS ? v
                      : make_uint4(__byte_perm(v.w, 0, a.order), __byte_perm(v.z, 0, a.order),
                                   __byte_perm(v.y, 0, a.order), __byte_perm(v.x, 0, a.order));
}

/* Where byte `at` of a row of the result is: as far from the begin of its unit. */
template <bool BACKWARDS>
GM_DEVICE const char *shifted_byte(shifted_units<BACKWARDS>, const permute_shifted_args &a,
                                   const char *row, int64_t at)
{
    if (!BACKWARDS) {
        return row + at;
    }
    const int64_t of_unit = at & (a.backwards - 1);
    return row - (at - of_unit) - a.backwards + of_unit;
}

/* Stores bytes `begin` to `end` of an aligned vector: whole words, and the others one by one. */
GM_DEVICE void shifted_store(char *to, uint4 v, int begin, int end)
{
    const uint32_t words[] = {v.x, v.y, v.z, v.w};
    if (begin == 0 && end == VECTOR) {
        *(uint4 *)to = v;
        return;
    }
#pragma unroll
    for (int i = 0; i < VECTOR; i += 4) {
        const uint32_t word = words[i / 4];
        if (begin <= i && i + 4 <= end) {
            *(uint32_t *)(to + i) = word;
            continue;
        }
#pragma unroll
        for (int j = i; j < i + 4; j++) {
            if (begin <= j && j < end) {
                to[j] = (char)(word >> 8 * (j - i));
            }
        }
    }
}

#endif
