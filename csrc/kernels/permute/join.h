/* permute: vectors that begin anywhere, from aligned ones. */
#ifndef GPUMEM_PERMUTE_JOIN_H
#define GPUMEM_PERMUTE_JOIN_H

#include "permute.h"

enum { PERMUTE_JOINED = 9 /* words of two vectors, and one more */ };

template <int WORDS> GM_DEVICE void permute_skip(uint32_t (&words)[PERMUTE_JOINED], bool skip)
{
#pragma unroll
    for (int i = 0; i < PERMUTE_JOINED - WORDS; i++) {
        words[i] = skip ? words[i + WORDS] : words[i];
    }
}

/* Bytes of `low` and then `high`, from byte `at` of 0 to 16 on. */
GM_DEVICE uint4 permute_join(uint4 low, uint4 high, uint32_t at)
{
    uint32_t words[PERMUTE_JOINED] = {low.x,  low.y,  low.z,  low.w, high.x,
                                      high.y, high.z, high.w, 0};
    const uint32_t select = 0x3210 + at % 4 * 0x1111;
    permute_skip<4>(words, at & 16);
    permute_skip<2>(words, at & 8);
    permute_skip<1>(words, at & 4);
    return make_uint4(
        __byte_perm(words[0], words[1], select), __byte_perm(words[1], words[2], select),
        __byte_perm(words[2], words[3], select), __byte_perm(words[3], words[4], select));
}

#endif
