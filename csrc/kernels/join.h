/*
 * Vectors that begin anywhere, from aligned ones: a vector of the result is the end of one aligned
 * vector and the beginning of the next.
 */
#ifndef GPUMEM_JOIN_H
#define GPUMEM_JOIN_H

#include "device.h"

enum { GM_JOINED = 9 /* words of two vectors, and one more */ };

template <int WORDS> GM_DEVICE void gm_join_skip(uint32_t (&words)[GM_JOINED], bool skip)
{
#pragma unroll
    for (int i = 0; i < GM_JOINED - WORDS; i++) {
        words[i] = skip ? words[i + WORDS] : words[i];
    }
}

/* Bytes of `low` and then `high`, from byte `at` of 0 to 16 on. */
GM_DEVICE uint4 gm_join(uint4 low, uint4 high, uint32_t at)
{
    uint32_t words[GM_JOINED] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w, 0};
    const uint32_t select = 0x3210 + at % 4 * 0x1111;
    gm_join_skip<4>(words, at & 16);
    gm_join_skip<2>(words, at & 8);
    gm_join_skip<1>(words, at & 4);
    return make_uint4(
        __byte_perm(words[0], words[1], select), __byte_perm(words[1], words[2], select),
        __byte_perm(words[2], words[3], select), __byte_perm(words[3], words[4], select));
}

/* The vector of the next lane. All lanes of the warp call it. */
GM_DEVICE uint4 gm_vector_down(uint4 v)
{
    const unsigned all = 0xffffffffu;
    return make_uint4(__shfl_down_sync(all, v.x, 1), __shfl_down_sync(all, v.y, 1),
                      __shfl_down_sync(all, v.z, 1), __shfl_down_sync(all, v.w, 1));
}

#endif
