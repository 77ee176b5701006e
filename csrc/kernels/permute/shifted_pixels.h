/*
 * permute / shifted, of pixels whose units are in the opposite order to that of the row: mirrored
 * images, and those whose channels are reversed.
 *
 * A unit is at most 4 bytes away from where it would be if the row's units followed each other.
 * What a vector of the result has of the row is in a window of memory that is longer than it by so
 * many bytes at either end, and a word of it in three of the window's words, which are always the
 * same. Example, mirrored pixels of 3 bytes, and the last word of the vector:
 *
 *     memory    |p q r s|t r0 g0 b0|r1 g1 b1 r2|g2 b2 r3 g3|b3 r4 g4 b4|r5 g5 b5 u|
 *     result               |b4 r3 g3 b3|...                    ...|r0 g0 b0 .|
 *
 * Which bytes these are depends on the unit of a pixel with which the vector begins, and is worked
 * out by the host.
 */
#ifndef GPUMEM_PERMUTE_SHIFTED_PIXELS_H
#define GPUMEM_PERMUTE_SHIFTED_PIXELS_H

#include "shifted_part.h"

enum { SHIFTED_WORDS = 13 /* of three vectors, and one more */ };

struct shifted_pixel_part {
    uint4 low, middle, high;
    int shift; /* byte of these with which the window begins */
};

template <bool BACKWARDS_> struct shifted_pixels {
    typedef shifted_pixel_part part;
    static constexpr bool BACKWARDS = BACKWARDS_, PIXELS = true;
    static constexpr int BESIDE = 2 * VECTOR;
    static constexpr int PICKED = 1, OF = 1;
};

/* The table of args, in shared memory: lanes begin with different units. */
GM_DEVICE void shifted_keep_select(const permute_shifted_args &a, uint32_t (*select)[4])
{
    if (threadIdx.x < 4 * SHIFTED_PIXEL) {
        select[threadIdx.x / 4][threadIdx.x % 4] = a.select[threadIdx.x / 4][threadIdx.x % 4];
    }
}

template <bool INSIDE, bool BACKWARDS>
GM_DEVICE shifted_pixel_part shifted_load_part(shifted_pixels<BACKWARDS>,
                                               const permute_shifted_args &a, const char *row,
                                               int64_t at, int begin, int end)
{
    const char *const from = (BACKWARDS ? row - at - VECTOR : row + at) - SHIFTED_BESIDE;
    if (BACKWARDS) {
        const int first = VECTOR - end;
        end = VECTOR - begin;
        begin = first;
    }
    const bool any = begin < end;
    const int shift = (int)((uintptr_t)from % VECTOR);
    const char *aligned = from - shift;
    begin += shift;
    end += shift + 2 * SHIFTED_BESIDE;
    shifted_pixel_part part;
    part.shift = shift;
    part.low = shifted_load<INSIDE>(a, aligned, any && begin < VECTOR);
    part.middle =
        shifted_load<INSIDE>(a, aligned + VECTOR, any && begin < 2 * VECTOR && end > VECTOR);
    part.high = shifted_load<INSIDE>(a, aligned + 2 * VECTOR, any && end > 2 * VECTOR);
    return part;
}

template <bool BACKWARDS>
GM_DEVICE const char *shifted_byte(shifted_pixels<BACKWARDS>, const permute_shifted_args &a,
                                   const char *row, int64_t at)
{
    const int32_t pixel = (int32_t)a.pixel.by, unit = 1 << a.log_unit;
    const int32_t of_pixel = (int32_t)at - (int32_t)gm_divide((uint32_t)at, a.pixel) * pixel;
    const int32_t of_unit = of_pixel & (unit - 1);
    const int64_t first = at - of_pixel; /* of the pixel's bytes */
    return BACKWARDS ? row - first - pixel + of_pixel
                     : row + first + (pixel - unit - (of_pixel - of_unit)) + of_unit;
}

/* The window's words. */
template <int WORDS>
GM_DEVICE void shifted_align(const shifted_pixel_part &part, uint32_t (&words)[SHIFTED_WORDS])
{
    const uint4 &l = part.low, &m = part.middle, &h = part.high;
    const uint32_t loaded[] = {l.x, l.y, l.z, l.w, m.x, m.y, m.z, m.w, h.x, h.y, h.z, h.w, 0};
    const uint32_t bits = 8 * ((uint32_t)part.shift % 4);
#pragma unroll
    for (int i = 0; i < WORDS + 2; i++) {
        words[i] = part.shift & 8 ? loaded[i + 2] : loaded[i];
    }
#pragma unroll
    for (int i = 0; i < WORDS + 1; i++) {
        words[i] = part.shift & 4 ? words[i + 1] : words[i];
    }
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        words[i] = __funnelshift_r(words[i], words[i + 1], bits);
    }
}

/* How the words of a vector are made, by the unit of a pixel with which it begins. That may be in
 * front of the first row, by less than a vector. */
GM_DEVICE uint4 shifted_orders(const permute_shifted_args &a, const uint32_t (*select)[4],
                               int64_t at)
{
    const uint32_t place = (uint32_t)at + VECTOR * a.pixel.by;
    const uint32_t of_pixel = place - gm_divide(place, a.pixel) * a.pixel.by;
    return *(const uint4 *)select[of_pixel >> a.log_unit];
}

GM_DEVICE uint32_t shifted_word(const uint32_t *window, uint32_t order)
{
    return __byte_perm(__byte_perm(window[0], window[1], order), window[2], order >> 16);
}

template <bool BACKWARDS>
GM_DEVICE uint4 shifted_join_part(shifted_pixels<BACKWARDS>, const permute_shifted_args &a,
                                  const uint32_t (*select)[4], const shifted_pixel_part &part,
                                  int64_t at)
{
    uint32_t words[SHIFTED_WORDS];
    shifted_align<6>(part, words);
    const uint4 order = shifted_orders(a, select, at);
    return make_uint4(shifted_word(words + (BACKWARDS ? 3 : 0), order.x),
                      shifted_word(words + (BACKWARDS ? 2 : 1), order.y),
                      shifted_word(words + (BACKWARDS ? 1 : 2), order.z),
                      shifted_word(words + (BACKWARDS ? 0 : 3), order.w));
}

#endif
