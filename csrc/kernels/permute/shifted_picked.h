/*
 * permute / shifted, of bytes that are picked from pixels: every second byte, two of three
 * channels, three of four, in either order.
 *
 * N of each P bytes are in the result. What a vector of it has is in a window of the input from
 * the begin of a pixel on, and a word of it in three of the window's words, which are always the
 * same: see shifted_pixels.h. Example, two of three bytes:
 *
 *     memory    |a0 b0 c0 a1|b1 c1 a2 b2|c2 ...
 *     result    |a0 b0 a1 b1|a2 b2 ...       or, where it begins with a pixel's last byte,
 *               |b0 a1 b1 a2|b2 ...
 */
#ifndef GPUMEM_PERMUTE_SHIFTED_PICKED_H
#define GPUMEM_PERMUTE_SHIFTED_PICKED_H

#include "shifted_pixels.h"

template <int N, int P> struct shifted_picked {
    typedef shifted_pixel_part part;
    static constexpr bool BACKWARDS = false, PIXELS = true;
    static constexpr int BESIDE = 3 * VECTOR;
    static constexpr int BYTES = ((N - 1 + VECTOR - 1) / N + 1) * P, /* of the window */
        WORDS = (BYTES + 3) / 4;
    static constexpr int PICKED = N, OF = P;
};

/* Where there is something of the row, all of the vector's window is loaded. */
template <bool INSIDE, int N, int P>
GM_DEVICE shifted_pixel_part shifted_load_part(shifted_picked<N, P>, const permute_shifted_args &a,
                                               const char *row, int64_t at, int begin, int end)
{
    typedef shifted_picked<N, P> way;
    /* In front of the first row there is a part of a vector. */
    const int64_t pixel = at < 0 ? -1 - (-1 - at) / N : (int64_t)((uint32_t)at / N);
    const char *const from = row + pixel * P;
    const bool any = begin < end;
    const int shift = (int)((uintptr_t)from % VECTOR);
    const char *aligned = from - shift;
    shifted_pixel_part part;
    part.shift = shift;
    part.low = shifted_load<INSIDE>(a, aligned, any);
    part.middle = shifted_load<INSIDE>(a, aligned + VECTOR, any);
    part.high =
        shifted_load<INSIDE>(a, aligned + 2 * VECTOR, any && shift + way::BYTES > 2 * VECTOR);
    return part;
}

template <int N, int P>
GM_DEVICE const char *shifted_byte(shifted_picked<N, P>, const permute_shifted_args &a,
                                   const char *row, int64_t at)
{
    const uint32_t pixel = (uint32_t)at / N;
    return row + (pixel * P + a.first + (int32_t)((uint32_t)at - pixel * N) * a.step);
}

template <int N, int P>
GM_DEVICE uint4 shifted_join_part(shifted_picked<N, P>, const permute_shifted_args &a,
                                  const uint32_t (*select)[4], const shifted_pixel_part &part,
                                  int64_t at)
{
    typedef shifted_picked<N, P> way;
    uint32_t words[SHIFTED_WORDS];
    shifted_align<way::WORDS>(part, words);
    const uint4 order = shifted_orders(a, select, at);
    return make_uint4(shifted_word(words + SHIFTED_PICKED_FROM(N, P, 0), order.x),
                      shifted_word(words + SHIFTED_PICKED_FROM(N, P, 1), order.y),
                      shifted_word(words + SHIFTED_PICKED_FROM(N, P, 2), order.z),
                      shifted_word(words + SHIFTED_PICKED_FROM(N, P, 3), order.w));
}

#endif
