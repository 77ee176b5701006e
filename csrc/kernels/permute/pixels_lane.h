/*
 * permute: what a lane of pixels holds, a vector of each plane, and its two orders of units. In the
 * order of pixels the vectors of a lane lie together in memory, in the order of planes each is of
 * another plane.
 */
#ifndef GPUMEM_PERMUTE_PIXELS_LANE_H
#define GPUMEM_PERMUTE_PIXELS_LANE_H

#include "permute.h"

/* Vectors of W words. */
template <typename element, int CHANNELS, int W> struct pixels_of {
    typedef element unit;
    enum { WORDS = CHANNELS * W, IN_WORD = 4 / sizeof(element), IN_VECTOR = W * IN_WORD };
    uint32_t word[WORDS];
};

/* The unit of pixel order that is number `at` of plane order. */
template <typename lane> GM_DEVICE constexpr int pixels_source(bool to_planes, int at, int channels)
{
    return to_planes ? at % lane::IN_VECTOR * channels + at / lane::IN_VECTOR
                     : at % channels * lane::IN_VECTOR + at / channels;
}

/* A word of units `at` of others, which are all known when this is compiled. */
template <typename lane>
GM_DEVICE uint32_t pixels_gather(const lane &from, const int (&at)[lane::IN_WORD])
{
    if constexpr (lane::IN_WORD == 4) {
        const uint32_t low = __byte_perm(from.word[at[0] / 4], from.word[at[1] / 4],
                                         (unsigned)(at[0] % 4 | (4 + at[1] % 4) << 4));
        const uint32_t high = __byte_perm(from.word[at[2] / 4], from.word[at[3] / 4],
                                          (unsigned)(at[2] % 4 | (4 + at[3] % 4) << 4));
        return __byte_perm(low, high, 0x5410);
    } else if constexpr (lane::IN_WORD == 1) {
        return from.word[at[0]];
    } else {
        const unsigned low = at[0] % 2 ? 0x32 : 0x10, high = at[1] % 2 ? 0x76 : 0x54;
        return __byte_perm(from.word[at[0] / 2], from.word[at[1] / 2], low | high << 8);
    }
}

template <bool TO_PLANES, int CHANNELS, typename lane>
GM_DEVICE lane pixels_reorder(const lane &from)
{
    lane to;
#pragma unroll
    for (int i = 0; i < lane::WORDS; i++) {
        int at[lane::IN_WORD];
#pragma unroll
        for (int k = 0; k < lane::IN_WORD; k++) {
            at[k] = pixels_source<lane>(TO_PLANES, i * lane::IN_WORD + k, CHANNELS);
        }
        to.word[i] = pixels_gather(from, at);
    }
    return to;
}

/* Vector `index` of a lane, to and from memory of either kind. */
template <typename vector, typename lane> GM_DEVICE vector pixels_get(const lane &of, int index)
{
    vector v;
    memcpy((void *)&v, of.word + index * (int)(sizeof(vector) / 4), sizeof v);
    return v;
}

template <typename vector, typename lane> GM_DEVICE void pixels_set(lane &of, int index, vector v)
{
    memcpy(of.word + index * (int)(sizeof(vector) / 4), &v, sizeof v);
}

/*
 * Where vector `at` of a warp, in the order of pixels, is in its shared memory. A warp accesses 128
 * bytes at a time: so many vectors one behind the other, or one of each of so many lanes, which are
 * CHANNELS apart. Three are odd, and so are all over the banks; of two or four, each 128 bytes have
 * their vectors in another order.
 */
template <typename vector, int CHANNELS> GM_DEVICE int pixels_slot(int at)
{
    enum { TOGETHER = 128 / sizeof(vector) };
    return CHANNELS % 2 ? at : at ^ at / TOGETHER % TOGETHER;
}

#endif
