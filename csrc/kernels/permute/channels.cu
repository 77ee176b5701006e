/*
 * permute / channels: pixels of more channels than pixels takes, to planes or back, on chip.
 *
 * Follows  pixels, whose lanes hold all channels of their pixels in registers: four at most.
 * Idea     so many pixels follow each other in memory, whatever their size is, and so do their
 *          units in each plane: a tile of them is long runs on both sides, however short a pixel
 *          is. Vectors in as they lie, vectors out that threads gather unit by unit. A thread
 *          finds the places of its units once: those of the vectors that it has later are as far
 *          apart.
 *
 *              pixels     |0 1 2 3 4|0 1 2 3 4|0 1 2 3 4| ...   N of them are a row of the tile
 *              planes     |0 0 0 ...   |1 1 1 ...   |2 2 2 ...   each of them is a row
 *
 * to planes    N pixels are made of whole vectors, so rows begin alike in these. Eight lanes have
 *              neighbouring vectors of a plane, which are of neighbouring rows: an odd number of
 *              vectors from one to the next keeps them out of each other's banks.
 * from planes  a thread's vectors begin with the same channel. A gap behind every eight planes
 *              keeps lanes whose channels are multiples of eight apart out of each other's banks.
 * two axes     of channels may be in another order in planes than in a pixel: only where a plane
 *              begins depends on that.
 * ends         A tile stores the sectors that begin in it, and loads some pixels behind it for the
 *              last. What an image has of sectors with which a plane begins and ends, or which it
 *              shares with the next image, is stored unit by unit.
 * Machine      LDGSTS, LDS of units, PRMT, STG.E.128
 */
#include "gather.h"
#include "lines.h"
#include "permute.h"

/* What a block has of an image. */
typedef struct channels_tile {
    const char *in; /* where its first pixel is, in the first plane of planes, */
    char *out;
    bool first;     /* with which the image begins; */
    uint32_t valid; /* pixels from there to the end of the image, or enough */
    char *shared;
} channels_tile;

template <typename unit> struct channels_of {
    enum {
        SIZE = sizeof(unit),
        N = 16 / SIZE, /* units of a vector */
        SECTOR = TRANSPOSE_SECTOR / SIZE,
    };
};

/* Bytes from the first plane to that of a channel; a number of 32 bits has the last ones. */
template <typename number>
GM_DEVICE number channels_plane(const permute_channels_args &a, uint32_t channel)
{
    const uint32_t others = permute_divide(channel, a.inner), one = channel - others * a.inner.by;
    return one * (number)a.plane + others * (number)a.other;
}

/* Rows of the tile: planes, or of so many bytes, the last one of `last`. */
template <bool PLANES>
GM_DEVICE void channels_load(const permute_channels_args &a, const channels_tile &tile,
                             uint32_t rows, uint32_t bytes, uint32_t last)
{
    const uint32_t all = rows * a.vectors.by;
    for (uint32_t i = threadIdx.x; i < all; i += CHANNELS_THREADS) {
        const uint32_t r = permute_divide(i, a.vectors), v = i - r * a.vectors.by;
        const char *row = tile.in + (PLANES ? channels_plane<int64_t>(a, r) : (int64_t)r * bytes);
        const uint32_t over = (uint32_t)(uintptr_t)row & 15;
        if (v * 16 < over + (r + 1 < rows ? bytes : last)) {
            const char *from = row - over + v * 16;
            char *to = tile.shared + (r * a.stride + (r >> a.gap) + v) * 16;
            if (from >= a.begin && from + 16 <= a.end) {
                gm_copy_async_kept_line(to, from);
            } else {
                permute_load_bytes(a.begin, a.end, from, to);
            }
        }
    }
    __pipeline_commit();
    gm_pipeline_wait_prior<0>();
    __syncthreads();
}

/* ---- to planes ------------------------------------------------------------------------------- */

/* Where a unit is, of the tile's pixels and of its channels. */
template <typename unit>
GM_DEVICE uint32_t channels_in_pixels(const permute_channels_args &a, const channels_tile &tile,
                                      uint32_t pixel, uint32_t channel)
{
    typedef channels_of<unit> of;
    const uint32_t over = (uint32_t)(uintptr_t)tile.in & 15;
    return pixel / of::N * a.stride * 16 + over +
           (pixel % of::N * a.channels.by + channel) * of::SIZE;
}

/* Whole sectors: eight lanes have a share of a plane. */
template <typename unit>
GM_DEVICE void channels_store_planes(const permute_channels_args &a, const channels_tile &tile)
{
    typedef channels_of<unit> of;
    enum { LANES = 8, N = of::N };
    const uint32_t all = a.channels.by * a.shares, vectors = a.step / N;
    const uint32_t each = (vectors / 2 + a.shares - 1) / a.shares * 2; /* vectors of a share */
#pragma unroll 1
    for (uint32_t t = threadIdx.x / LANES; t < all; t += CHANNELS_THREADS / LANES) {
        const uint32_t share = permute_divide(t, a.channels);
        uint32_t c = (t - share * a.channels.by) * a.apart;
        c -= permute_divide(c, a.channels) * a.channels.by;
        char *plane = tile.out + channels_plane<int64_t>(a, c);
        const uint32_t begin = permute_to_sector<unit>(plane);
        uint32_t v = share * each + threadIdx.x % LANES;
        const uint32_t end = min(share * each + each, vectors);
        uint32_t place[N];
#pragma unroll
        for (uint32_t i = 0; i < N; i++) {
            place[i] = channels_in_pixels<unit>(a, tile, begin + v * N + i, c);
        }
        const char *from = tile.shared;
#pragma unroll 2
        for (; v < end; v += LANES) {
            if (begin + (v & ~1u) * N + of::SECTOR <= tile.valid) {
                *(uint4 *)(plane + (begin + v * N) * of::SIZE) = permute_gather(from, place);
            }
            from += LANES * a.stride * 16;
        }
    }
}

/* Units of sectors that are not whole: a thread for each, of one channel after the other. */
template <typename unit>
GM_DEVICE void channels_store_plane_ends(const permute_channels_args &a, const channels_tile &tile)
{
    typedef channels_of<unit> of;
    for (uint32_t i = threadIdx.x; i < a.channels.by * of::SECTOR; i += CHANNELS_THREADS) {
        const uint32_t c = i / of::SECTOR, u = i % of::SECTOR;
        unit *plane = (unit *)(tile.out + channels_plane<int64_t>(a, c));
        const uint32_t begin = permute_to_sector<unit>((const char *)plane);
        if (tile.first && u < min(begin, tile.valid)) {
            plane[u] = *(const unit *)(tile.shared + channels_in_pixels<unit>(a, tile, u, c));
        }
        if (tile.valid >= begin) {
            const uint32_t tail = tile.valid - (tile.valid - begin) % of::SECTOR, at = tail + u;
            if (tail < begin + a.step && at < tile.valid) {
                plane[at] = *(const unit *)(tile.shared + channels_in_pixels<unit>(a, tile, at, c));
            }
        }
    }
}

template <typename unit>
GM_DEVICE void channels_to_planes(const permute_channels_args &a, const channels_tile &tile)
{
    typedef channels_of<unit> of;
    const uint32_t pixel = a.channels.by * of::SIZE, pixels = min(tile.valid, a.step + a.halo);
    const uint32_t rows = (pixels + of::N - 1) / of::N;
    channels_load<false>(a, tile, rows, of::N * pixel, (pixels - (rows - 1) * of::N) * pixel);
    channels_store_planes<unit>(a, tile);
    if (tile.first || tile.valid < a.step + a.halo) {
        channels_store_plane_ends<unit>(a, tile);
    }
}

/* ---- from planes ----------------------------------------------------------------------------- */

/* Where the unit is that is so many behind the tile's first one in the result. */
template <typename unit>
GM_DEVICE uint32_t channels_in_planes(const permute_channels_args &a, const channels_tile &tile,
                                      uint32_t at)
{
    const uint32_t pixel = permute_divide(at, a.channels), c = at - pixel * a.channels.by;
    /* With 64 bits the compiler works all places out anew for each vector. */
    const uint32_t over = ((uint32_t)(uintptr_t)tile.in + channels_plane<uint32_t>(a, c)) & 15;
    return (c * a.stride + (c >> a.gap)) * 16 + over + pixel * channels_of<unit>::SIZE;
}

template <typename unit>
GM_DEVICE void channels_from_planes(const permute_channels_args &a, const channels_tile &tile)
{
    typedef channels_of<unit> of;
    enum { N = of::N };
    const uint32_t bytes = min(tile.valid, a.step + a.halo) * of::SIZE;
    channels_load<true>(a, tile, a.channels.by, bytes, bytes);

    const uint32_t begin = permute_to_sector<unit>(tile.out);
    const uint32_t vectors = a.step * a.channels.by / N, valid = tile.valid * a.channels.by;
    uint32_t v = threadIdx.x;
    if (v < a.busy) {
        uint32_t place[N];
#pragma unroll
        for (uint32_t i = 0; i < N; i++) {
            place[i] = channels_in_planes<unit>(a, tile, begin + v * N + i);
        }
        const char *from = tile.shared;
#pragma unroll 2
        for (; v < vectors; v += a.busy) {
            if (begin + (v & ~1u) * N + of::SECTOR <= valid) {
                *(uint4 *)(tile.out + (begin + v * N) * of::SIZE) = permute_gather(from, place);
            }
            from += a.on;
        }
    }
    if (tile.first || tile.valid < a.step + a.halo) {
        unit *out = (unit *)tile.out;
        const uint32_t u = threadIdx.x;
        if (tile.first && u < min(begin, valid)) {
            out[u] = *(const unit *)(tile.shared + channels_in_planes<unit>(a, tile, u));
        }
        if (valid >= begin) {
            const uint32_t tail = valid - (valid - begin) % of::SECTOR, at = tail + u;
            if (u < of::SECTOR && tail < begin + a.step * a.channels.by && at < valid) {
                out[at] = *(const unit *)(tile.shared + channels_in_planes<unit>(a, tile, at));
            }
        }
    }
}

/* ---- the tile of a block --------------------------------------------------------------------- */

template <typename unit> GM_DEVICE void channels_move(const permute_channels_args &a, char *shared)
{
    typedef channels_of<unit> of;
    uint32_t image = blockIdx.x;
    const uint32_t number = permute_take(&image, a.tiles);
    const int64_t pixel = (int64_t)number * a.step, rest = a.pixels - pixel;
    const int64_t there = pixel * of::SIZE, packed = there * a.channels.by;
    channels_tile tile = {a.in, a.out, number == 0, (uint32_t)min(rest, (int64_t)CHANNELS_ENOUGH),
                          shared};
    permute_move_to(a.outer, image, &tile.in, &tile.out);
    tile.in += a.to_planes ? packed : there;
    tile.out += a.to_planes ? there : packed;
    gm_wait_for_previous();
    if (a.to_planes) {
        channels_to_planes<unit>(a, tile);
    } else {
        channels_from_planes<unit>(a, tile);
    }
}

GM_KERNEL_BOUNDED(permute_channels_b8, permute_channels_args, CHANNELS_THREADS, 4)
{
    GM_DYNAMIC_SHARED(char, shared);
    channels_move<uint8_t>(a, shared);
}

GM_KERNEL_BOUNDED(permute_channels_b16, permute_channels_args, CHANNELS_THREADS, 4)
{
    GM_DYNAMIC_SHARED(char, shared);
    channels_move<uint16_t>(a, shared);
}

GM_KERNEL_BOUNDED(permute_channels_b32, permute_channels_args, CHANNELS_THREADS, 4)
{
    GM_DYNAMIC_SHARED(char, shared);
    channels_move<uint32_t>(a, shared);
}
