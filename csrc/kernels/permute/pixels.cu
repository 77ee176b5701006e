/*
 * permute / pixels: channels of small elements, from pixels to planes or back, in registers.
 *
 * Follows  matrices, whose tiles are mostly empty where there are three or four channels.
 * Idea     a lane has a vector of every plane, 16 bytes for instance, and so all of those pixels.
 *          Their elements change places in its registers; no other lane has to be asked.
 *
 *              pixels in memory             registers of a lane     planes in memory
 *              r g b r g b r g b r g b ...  -> r r r r ...      ->  vectors of r: a lane behind the
 *              `channels` vectors of a lane    g g g g ...          other; of g; of b
 *                                              b b b b ...
 *
 * Pixels   are the side where the vectors of a lane lie together, so that those of the next lane
 *          are `channels` vectors further. The warp moves them one behind the other, and gives them
 *          to their lanes through shared memory of its own; an odd pitch spreads these over the
 *          banks.
 * thread   a vector of every plane, SPANS times; all loads are in flight before the first store
 * warp     SPANS x 32 vectors of every plane; no other warp is waited for
 * Other    sizes: pixels that vectors do not divide, more channels: packed.
 * Machine  LDG.E.128, STS, LDS, PRMT, STG.E.128, or the same by 32 bits where only words are
 * aligned
 */
#include "permute.h"

/* Of a lane: a vector of W words of each plane. The two orders of its units, as words. */
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

/* What a warp has to do: `count` vectors of each plane, from `pixels` and `plane` on. */
struct pixels_span {
    int64_t begin; /* vectors of a plane before it */
    int count;     /* 32 or fewer */
};

/* From pixels to planes: as many loads one behind the other as a lane has vectors; shared memory;
 * the lane's own. */
template <typename vector, typename lane, int CHANNELS, int SPANS>
GM_DEVICE void pixels_to_planes(const permute_pixels_args &a, const char *in, char *out,
                                const pixels_span (&spans)[SPANS], vector *shared)
{
    enum { PITCH = CHANNELS | 1 };
    const int id = (int)(threadIdx.x % 32);
    lane held[SPANS];

#pragma unroll
    for (int s = 0; s < SPANS; s++) {
        const vector *from = (const vector *)in + spans[s].begin * CHANNELS;
#pragma unroll
        for (int j = 0; j < CHANNELS; j++) {
            if (j * 32 + id < spans[s].count * CHANNELS) {
                pixels_set(held[s], j, from[j * 32 + id]);
            }
        }
    }
#pragma unroll
    for (int s = 0; s < SPANS; s++) {
#pragma unroll
        for (int j = 0; j < CHANNELS; j++) {
            const int at = j * 32 + id;
            if (at < spans[s].count * CHANNELS) {
                shared[at / CHANNELS * PITCH + at % CHANNELS] = pixels_get<vector>(held[s], j);
            }
        }
        __syncwarp();
        if (id < spans[s].count) {
            lane mine;
#pragma unroll
            for (int j = 0; j < CHANNELS; j++) {
                pixels_set(mine, j, shared[id * PITCH + j]);
            }
            mine = pixels_reorder<true, CHANNELS>(mine);
            char *to = out + (spans[s].begin + id) * (int64_t)sizeof(vector);
#pragma unroll
            for (int j = 0; j < CHANNELS; j++) {
                *(vector *)(to + j * a.plane) = pixels_get<vector>(mine, j);
            }
        }
        __syncwarp();
    }
}

/* From planes to pixels: the same the other way around. */
template <typename vector, typename lane, int CHANNELS, int SPANS>
GM_DEVICE void pixels_from_planes(const permute_pixels_args &a, const char *in, char *out,
                                  const pixels_span (&spans)[SPANS], vector *shared)
{
    enum { PITCH = CHANNELS | 1 };
    const int id = (int)(threadIdx.x % 32);
    lane held[SPANS];

#pragma unroll
    for (int s = 0; s < SPANS; s++) {
        const char *from = in + (spans[s].begin + id) * (int64_t)sizeof(vector);
#pragma unroll
        for (int j = 0; j < CHANNELS; j++) {
            if (id < spans[s].count) {
                pixels_set(held[s], j, *(const vector *)(from + j * a.plane));
            }
        }
    }
#pragma unroll
    for (int s = 0; s < SPANS; s++) {
        if (id < spans[s].count) {
            const lane mine = pixels_reorder<false, CHANNELS>(held[s]);
#pragma unroll
            for (int j = 0; j < CHANNELS; j++) {
                shared[id * PITCH + j] = pixels_get<vector>(mine, j);
            }
        }
        __syncwarp();
        vector *to = (vector *)out + spans[s].begin * CHANNELS;
#pragma unroll
        for (int j = 0; j < CHANNELS; j++) {
            const int at = j * 32 + id;
            if (at < spans[s].count * CHANNELS) {
                to[at] = shared[at / CHANNELS * PITCH + at % CHANNELS];
            }
        }
        __syncwarp();
    }
}

/* A warp for each share of an image, which are numbered through all images. */
template <typename unit, typename vector, int CHANNELS, int SPANS>
GM_DEVICE void pixels_move(const permute_pixels_args &a, char *memory)
{
    typedef pixels_of<unit, CHANNELS, (int)(sizeof(vector) / 4)> lane;
    const uint32_t warp = threadIdx.x / 32;
    const uint64_t number = (uint64_t)blockIdx.x * (PIXELS_THREADS / 32) + warp;
    vector *shared = (vector *)memory + warp * (32 * (CHANNELS | 1));
    const char *in = a.in;
    char *out = a.out;
    pixels_span spans[SPANS];

    if (number >= a.warps) {
        return;
    }
    uint32_t index = (uint32_t)number;
    const int64_t share = permute_take(&index, a.shares);
    permute_move_to(a.outer, index, &in, &out);
#pragma unroll
    for (int s = 0; s < SPANS; s++) {
        spans[s].begin = (share * SPANS + s) * 32;
        spans[s].count = (int)max(min(a.vectors - spans[s].begin, (int64_t)32), (int64_t)0);
    }
    gm_wait_for_previous();
    if (a.to_planes) {
        pixels_to_planes<vector, lane, CHANNELS>(a, in, out, spans, shared);
    } else {
        pixels_from_planes<vector, lane, CHANNELS>(a, in, out, spans, shared);
    }
}

/* Several spans have as many bytes in flight as one of wide vectors. */
template <typename unit> GM_DEVICE void pixels_of_units(const permute_pixels_args &a, char *memory)
{
    switch (a.channels * 2 + (a.vector == 16)) {
    case 2 * 2: pixels_move<unit, uint32_t, 2, PIXELS_SPANS>(a, memory); break;
    case 3 * 2: pixels_move<unit, uint32_t, 3, PIXELS_SPANS>(a, memory); break;
    case 4 * 2: pixels_move<unit, uint32_t, 4, PIXELS_SPANS>(a, memory); break;
    case 2 * 2 + 1: pixels_move<unit, uint4, 2, 1>(a, memory); break;
    case 3 * 2 + 1: pixels_move<unit, uint4, 3, 1>(a, memory); break;
    case 4 * 2 + 1: pixels_move<unit, uint4, 4, 1>(a, memory); break;
    }
}

GM_KERNEL_BOUNDED(permute_pixels, permute_pixels_args, PIXELS_THREADS, 4)
{
    GM_DYNAMIC_SHARED(char, memory);
    switch (a.unit) {
    case 1: pixels_of_units<uint8_t>(a, memory); break;
    case 2: pixels_of_units<uint16_t>(a, memory); break;
    case 4: pixels_of_units<uint32_t>(a, memory); break;
    }
}
