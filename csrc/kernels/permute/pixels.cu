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
 *          to their lanes through shared memory of its own, without bank conflicts.
 * thread   a vector of every plane; of words four, whose loads are all in flight before the first
 *          store
 * warp     32 times as much; no other warp is waited for
 * shifted  planes that begin anywhere: see pixels_shifted.h.
 * Other    sizes: more channels, larger elements: packed.
 * Machine  LDG.E.128, STS, LDS, PRMT, STG.E.128, or the same by 32 bits; shifted: SHFL, too
 */
#include "pixels_lane.h"
#include "pixels_shifted.h"

/* What a warp has to do: `count` vectors of each plane. */
struct pixels_span {
    int64_t begin; /* vectors of a plane before it */
    int count;     /* 32 or fewer */
};

/* From pixels to planes: as many loads one behind the other as a lane has vectors; shared memory;
 * the lane's own. */
template <typename vector, typename lane, int CHANNELS, int SPANS>
GM_DEVICE void pixels_to_planes(const permute_pixels_args &a, const pixels_image &image,
                                const pixels_span (&spans)[SPANS], vector *shared)
{
    const int id = (int)(threadIdx.x % 32);
    lane held[SPANS];

#pragma unroll
    for (int s = 0; s < SPANS; s++) {
        const vector *from = (const vector *)image.in + spans[s].begin * CHANNELS;
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
                shared[pixels_slot<vector, CHANNELS>(at)] = pixels_get<vector>(held[s], j);
            }
        }
        __syncwarp();
        if (id < spans[s].count) {
            lane mine;
#pragma unroll
            for (int j = 0; j < CHANNELS; j++) {
                pixels_set(mine, j, shared[pixels_slot<vector, CHANNELS>(id * CHANNELS + j)]);
            }
            mine = pixels_reorder<true, CHANNELS>(mine);
            char *to = image.out + (spans[s].begin + id) * (int64_t)sizeof(vector);
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
GM_DEVICE void pixels_from_planes(const permute_pixels_args &a, const pixels_image &image,
                                  const pixels_span (&spans)[SPANS], vector *shared)
{
    const int id = (int)(threadIdx.x % 32);
    lane held[SPANS];

#pragma unroll
    for (int s = 0; s < SPANS; s++) {
        const char *from = image.in + (spans[s].begin + id) * (int64_t)sizeof(vector);
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
                shared[pixels_slot<vector, CHANNELS>(id * CHANNELS + j)] =
                    pixels_get<vector>(mine, j);
            }
        }
        __syncwarp();
        vector *to = (vector *)image.out + spans[s].begin * CHANNELS;
#pragma unroll
        for (int j = 0; j < CHANNELS; j++) {
            const int at = j * 32 + id;
            if (at < spans[s].count * CHANNELS) {
                to[at] = shared[pixels_slot<vector, CHANNELS>(at)];
            }
        }
        __syncwarp();
    }
}

template <typename unit, typename vector, int CHANNELS, int SPANS>
GM_DEVICE void pixels_move(const permute_pixels_args &a, const pixels_image &image, vector *shared)
{
    typedef pixels_of<unit, CHANNELS, (int)(sizeof(vector) / 4)> lane;
    pixels_span spans[SPANS];

#pragma unroll
    for (int s = 0; s < SPANS; s++) {
        spans[s].begin = (image.share * SPANS + s) * 32;
        spans[s].count = (int)max(min(a.vectors - spans[s].begin, (int64_t)32), (int64_t)0);
    }
    if (a.to_planes) {
        pixels_to_planes<vector, lane, CHANNELS>(a, image, spans, shared);
    } else {
        pixels_from_planes<vector, lane, CHANNELS>(a, image, spans, shared);
    }
}

/* A warp for each share of an image, which are numbered through all images; false if there are no
 * more. `shared` becomes the warp's. */
GM_DEVICE bool pixels_find(const permute_pixels_args &a, pixels_image *image, char **shared)
{
    const uint32_t warp = threadIdx.x / 32;
    const uint64_t number = (uint64_t)blockIdx.x * (PIXELS_THREADS / 32) + warp;

    if (number >= a.warps) {
        return false;
    }
    uint32_t index = (uint32_t)number;
    *image = {a.in, a.out, permute_take(&index, a.shares)};
    permute_move_to(a.outer, index, &image->in, &image->out);
    *shared += warp * (32u * a.channels * a.vector);
    gm_wait_for_previous();
    return true;
}

template <typename unit, typename vector, int SPANS>
GM_DEVICE void pixels_vectors(const permute_pixels_args &a, char *shared)
{
    pixels_image image;
    if (!pixels_find(a, &image, &shared)) {
        return;
    }
    if (a.channels == 3) {
        pixels_move<unit, vector, 3, SPANS>(a, image, (vector *)shared);
    } else if (a.channels == 4) {
        pixels_move<unit, vector, 4, SPANS>(a, image, (vector *)shared);
    } else {
        pixels_move<unit, vector, 2, SPANS>(a, image, (vector *)shared);
    }
}

template <typename unit, bool TO_PLANES>
GM_DEVICE void pixels_shifted_channels(const permute_pixels_args &a, const pixels_image &image,
                                       uint4 *shared)
{
    if (a.channels == 3) {
        pixels_shifted_move<unit, 3, TO_PLANES>(a, image, shared);
    } else if (a.channels == 4) {
        pixels_shifted_move<unit, 4, TO_PLANES>(a, image, shared);
    } else {
        pixels_shifted_move<unit, 2, TO_PLANES>(a, image, shared);
    }
}

template <typename unit> GM_DEVICE void pixels_shifted(const permute_pixels_args &a, char *shared)
{
    pixels_image image;
    if (!pixels_find(a, &image, &shared)) {
        return;
    }
    if (a.to_planes) {
        pixels_shifted_channels<unit, true>(a, image, (uint4 *)shared);
    } else {
        pixels_shifted_channels<unit, false>(a, image, (uint4 *)shared);
    }
}

/* Ten resident blocks leave a thread 48 registers, eight 64. */
GM_KERNEL_BOUNDED(permute_pixels_b8, permute_pixels_args, PIXELS_THREADS, 10)
{
    GM_DYNAMIC_SHARED(char, shared);
    pixels_vectors<uint8_t, uint4, 1>(a, shared);
}

GM_KERNEL_BOUNDED(permute_pixels_b16, permute_pixels_args, PIXELS_THREADS, 10)
{
    GM_DYNAMIC_SHARED(char, shared);
    pixels_vectors<uint16_t, uint4, 1>(a, shared);
}

GM_KERNEL_BOUNDED(permute_pixels_b32, permute_pixels_args, PIXELS_THREADS, 10)
{
    GM_DYNAMIC_SHARED(char, shared);
    pixels_vectors<uint32_t, uint4, 1>(a, shared);
}

GM_KERNEL_BOUNDED(permute_pixels_b8_shifted, permute_pixels_args, PIXELS_THREADS, 8)
{
    GM_DYNAMIC_SHARED(char, shared);
    pixels_shifted<uint8_t>(a, shared);
}

GM_KERNEL_BOUNDED(permute_pixels_b16_shifted, permute_pixels_args, PIXELS_THREADS, 8)
{
    GM_DYNAMIC_SHARED(char, shared);
    pixels_shifted<uint16_t>(a, shared);
}

GM_KERNEL_BOUNDED(permute_pixels_b32_shifted, permute_pixels_args, PIXELS_THREADS, 8)
{
    GM_DYNAMIC_SHARED(char, shared);
    pixels_shifted<uint32_t>(a, shared);
}

GM_KERNEL_BOUNDED(permute_pixels_b8_words, permute_pixels_args, PIXELS_THREADS, 10)
{
    GM_DYNAMIC_SHARED(char, shared);
    pixels_vectors<uint8_t, uint32_t, PIXELS_SPANS>(a, shared);
}

GM_KERNEL_BOUNDED(permute_pixels_b16_words, permute_pixels_args, PIXELS_THREADS, 10)
{
    GM_DYNAMIC_SHARED(char, shared);
    pixels_vectors<uint16_t, uint32_t, PIXELS_SPANS>(a, shared);
}

GM_KERNEL_BOUNDED(permute_pixels_b32_words, permute_pixels_args, PIXELS_THREADS, 10)
{
    GM_DYNAMIC_SHARED(char, shared);
    pixels_vectors<uint32_t, uint32_t, PIXELS_SPANS>(a, shared);
}
