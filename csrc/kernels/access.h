/*
 * What the access families share. They copy elements one by one, as bits: a family says where
 * element k is loaded from and stored to, its variants differ in how the loads use the caches and
 * in how many of them a thread has in flight.
 */
#ifndef GPUMEM_ACCESS_H
#define GPUMEM_ACCESS_H

#include "device.h"

/*
 * Runs a statement with `unit` as the type that has the size of an element. Loads say how they use
 * the caches: __ldca (.ca, may stay in the L1), __ldcg (.cg, in the L2 only) or __ldg (.nc, the
 * read-only path). The compiler keeps the order of such loads, which it does not for plain ones:
 * where several are to be in flight that was worth 5 %.
 */
#define ACCESS_EACH_SIZE(unit, ...)                                                                \
    switch (a.itemsize) {                                                                          \
        ACCESS_CASE(1, unsigned char, unit, __VA_ARGS__)                                           \
        ACCESS_CASE(2, unsigned short, unit, __VA_ARGS__)                                          \
        ACCESS_CASE(4, unsigned, unit, __VA_ARGS__)                                                \
        ACCESS_CASE(8, uint2, unit, __VA_ARGS__)                                                   \
        ACCESS_CASE(16, uint4, unit, __VA_ARGS__)                                                  \
    }
#define ACCESS_CASE(size, type, unit, ...)                                                         \
    case size: {                                                                                   \
        typedef type unit;                                                                         \
        __VA_ARGS__;                                                                               \
        break;                                                                                     \
    }

/* The word of memory that has elements of 1, 2 or 4 bytes, as many as it has room for. */
template <typename unit> GM_DEVICE uint32_t access_join(const unit *elements)
{
    uint32_t word = 0;
#pragma unroll
    for (int j = 0; j < 4 / (int)sizeof(unit); j++) {
        word |= (uint32_t)elements[j] << 8 * (int)sizeof(unit) * j;
    }
    return word;
}

/* ---- elements of any size -------------------------------------------------------------------- */

template <typename unit> GM_DEVICE void access_move_unit(char *to, const char *from, int64_t at)
{
    ((unit *)to)[at] = ((const unit *)from)[at];
}

/* Copies bytes at * width to (at + 1) * width of an element, in one access. */
GM_DEVICE void access_move_piece(char *to, const char *from, int64_t at, int width)
{
    switch (width) {
    case 1: access_move_unit<unsigned char>(to, from, at); break;
    case 2: access_move_unit<unsigned short>(to, from, at); break;
    case 4: access_move_unit<unsigned>(to, from, at); break;
    case 8: access_move_unit<uint2>(to, from, at); break;
    case 16: access_move_unit<uint4>(to, from, at); break;
    }
}

#endif
