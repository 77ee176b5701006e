/*
 * permute: pixels and planes that begin anywhere, in aligned vectors on both sides.
 *
 * Vectors of the pixels begin at the first pixel, after `head` others, that is at 16 bytes. Those
 * of a plane, which begin at the same pixel, do not, each plane by another number of bytes: an
 * aligned vector of it has the end of one lane's and the beginning of the next lane's.
 *
 *      pixels           |r g b r g b r g|b r g b ...           aligned
 *      vectors of r     |r r r r r r r r|r r r r r r r r|      of lane 0, of lane 1
 *      plane of r    |. . . r r r r r|r r r r r r r r|         aligned
 *
 * To planes a warp moves 31 such vectors, since its first lane has none before its own; from planes
 * its last lane loads one more of each plane. What is before and after is moved by units, by a warp
 * for each plane of an image.
 */
#ifndef GPUMEM_PERMUTE_PIXELS_SHIFTED_H
#define GPUMEM_PERMUTE_PIXELS_SHIFTED_H

#include "join.h"
#include "pixels_lane.h"

/* An image, and which share of it a warp has. */
struct pixels_image {
    const char *in;
    char *out;
    int64_t share;
};

GM_DEVICE uint4 pixels_up(uint4 v)
{
    const unsigned all = 0xffffffffu;
    return make_uint4(__shfl_up_sync(all, v.x, 1), __shfl_up_sync(all, v.y, 1),
                      __shfl_up_sync(all, v.z, 1), __shfl_up_sync(all, v.w, 1));
}

/* Pixels before the first vector: at least so many that what is loaded with it is of the plane. */
template <typename unit, int CHANNELS> GM_DEVICE int pixels_head(const char *pixels)
{
    enum {
        PIXEL = CHANNELS * sizeof(unit),
        TWOS = PIXEL & -PIXEL,
        INVERSE = PIXEL / TWOS == 3 ? 11 : 1, /* modulo 16 */
    };
    const uint32_t missing = (uint32_t)((0 - (uintptr_t)pixels) % 16);
    return (int)(missing / TWOS * INVERSE % (16 / TWOS) + 16 / sizeof(unit));
}

/* `count` lanes have a vector of each plane, of which number 0 is vector `first` of the image. */
template <typename unit, int CHANNELS>
GM_DEVICE void pixels_shifted_to_planes(const permute_pixels_args &a, const pixels_image &image,
                                        int head, int64_t first, int count, uint4 *shared)
{
    typedef pixels_of<unit, CHANNELS, 4> lane;
    const int id = (int)(threadIdx.x % 32);
    const uint4 *from =
        (const uint4 *)(image.in + head * (int)(CHANNELS * sizeof(unit))) + first * CHANNELS;
    lane mine;

#pragma unroll
    for (int j = 0; j < CHANNELS; j++) {
        if (j * 32 + id < count * CHANNELS) {
            pixels_set(mine, j, from[j * 32 + id]);
        }
    }
#pragma unroll
    for (int j = 0; j < CHANNELS; j++) {
        if (j * 32 + id < count * CHANNELS) {
            shared[pixels_slot<uint4, CHANNELS>(j * 32 + id)] = pixels_get<uint4>(mine, j);
        }
    }
    __syncwarp();
    if (id < count) {
#pragma unroll
        for (int j = 0; j < CHANNELS; j++) {
            pixels_set(mine, j, shared[pixels_slot<uint4, CHANNELS>(id * CHANNELS + j)]);
        }
    }
    mine = pixels_reorder<true, CHANNELS>(mine);
#pragma unroll
    for (int j = 0; j < CHANNELS; j++) {
        char *plane = image.out + j * a.plane + head * (int)sizeof(unit);
        const uint32_t shift = (uint32_t)((uintptr_t)plane % 16);
        const uint4 v = pixels_get<uint4>(mine, j), before = pixels_up(v);
        if (id > 0 && id < count) {
            ((uint4 *)(plane - shift))[first + id] = gm_join(before, v, 16 - shift);
        }
    }
}

template <typename unit, int CHANNELS>
GM_DEVICE void pixels_shifted_from_planes(const permute_pixels_args &a, const pixels_image &image,
                                          int head, int64_t first, int count, uint4 *shared)
{
    typedef pixels_of<unit, CHANNELS, 4> lane;
    const int id = (int)(threadIdx.x % 32);
    const char *plane = image.in + head * (int)sizeof(unit);
    uint4 held[CHANNELS], next[CHANNELS];
    lane mine;

#pragma unroll
    for (int j = 0; j < CHANNELS; j++) {
        const uintptr_t at = (uintptr_t)(plane + j * a.plane);
        const uint4 *from = (const uint4 *)(at - at % 16) + first + id;
        if (id < count) {
            held[j] = from[0];
        }
        if (id == count - 1) {
            next[j] = from[1];
        }
    }
#pragma unroll
    for (int j = 0; j < CHANNELS; j++) {
        const uint32_t shift = (uint32_t)((uintptr_t)(plane + j * a.plane) % 16);
        const uint4 beside = gm_vector_down(held[j]);
        pixels_set(mine, j, gm_join(held[j], id == count - 1 ? next[j] : beside, shift));
    }
    mine = pixels_reorder<false, CHANNELS>(mine);
    if (id < count) {
#pragma unroll
        for (int j = 0; j < CHANNELS; j++) {
            shared[pixels_slot<uint4, CHANNELS>(id * CHANNELS + j)] = pixels_get<uint4>(mine, j);
        }
    }
    __syncwarp();
    uint4 *to = (uint4 *)(image.out + head * (int)(CHANNELS * sizeof(unit))) + first * CHANNELS;
#pragma unroll
    for (int j = 0; j < CHANNELS; j++) {
        if (j * 32 + id < count * CHANNELS) {
            to[j * 32 + id] = shared[pixels_slot<uint4, CHANNELS>(j * 32 + id)];
        }
    }
}

/* What vectors leave of a plane, of fewer than 96 units: 31 before, 31 after, and twice a part of a
 * vector. */
template <typename unit, int CHANNELS, bool TO_PLANES>
GM_DEVICE void pixels_shifted_ends(const permute_pixels_args &a, const pixels_image &image,
                                   int head, int64_t groups, int channel)
{
    enum { GROUP = 16 / sizeof(unit), STEPS = 3 };
    const char *in = image.in + (TO_PLANES ? channel * (int)sizeof(unit) : channel * a.plane);
    char *out = image.out + (TO_PLANES ? channel * a.plane : channel * (int)sizeof(unit));
    const uintptr_t plane = (uintptr_t)(TO_PLANES ? out : in);
    const int shift = TO_PLANES ? (int)((plane + head * sizeof(unit)) % 16 / sizeof(unit)) : 0;
    const int before = groups == 0 ? 0 : head + (TO_PLANES ? GROUP - shift : 0);
    const int64_t after = groups == 0 ? 0 : head + groups * GROUP - shift;
    const int count = (int)(a.pixels - after) + before;
    unit held[STEPS];

#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        const int i = k * 32 + (int)(threadIdx.x % 32);
        const int64_t at = i < before ? i : after + i - before;
        if (i < count) {
            held[k] = ((const unit *)in)[TO_PLANES ? at * CHANNELS : at];
        }
    }
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        const int i = k * 32 + (int)(threadIdx.x % 32);
        const int64_t at = i < before ? i : after + i - before;
        if (i < count) {
            ((unit *)out)[TO_PLANES ? at : at * CHANNELS] = held[k];
        }
    }
}

/* The last shares of an image are the ends of its planes. */
template <typename unit, int CHANNELS, bool TO_PLANES>
GM_DEVICE void pixels_shifted_move(const permute_pixels_args &a, const pixels_image &image,
                                   uint4 *shared)
{
    enum { GROUP = 16 / sizeof(unit), FRESH = TO_PLANES ? 31 : 32 };
    const int head = pixels_head<unit, CHANNELS>(TO_PLANES ? image.in : image.out);
    const int64_t groups = max((a.pixels - head) / GROUP - 1, (int64_t)0);
    const int64_t ends = (int64_t)a.shares.by - CHANNELS, first = image.share * FRESH;

    if (image.share >= ends) {
        const int channel = (int)(image.share - ends);
        pixels_shifted_ends<unit, CHANNELS, TO_PLANES>(a, image, head, groups, channel);
    } else if (first < groups) {
        const int count = (int)min(groups - first, (int64_t)32);
        if (TO_PLANES) {
            pixels_shifted_to_planes<unit, CHANNELS>(a, image, head, first, count, shared);
        } else {
            pixels_shifted_from_planes<unit, CHANNELS>(a, image, head, first, count, shared);
        }
    }
}

#endif
