/*
 * permute / packed: a piece of memory that is rearranged on chip.
 *
 * Follows  tiles, which have two axes and are mostly empty where one of them is short.
 * Idea     a tile has as many axes as it takes to make runs on both sides: the closest axes of the
 *          input, and the innermost axes of the result. Example, 3 channels first, a tile of 8
 *          pixels:
 *
 *              input, pixel by pixel        shared memory            result, plane by plane
 *              r g b r g b r g b ...        r g b r g b r g b ...    r r r r r r r r
 *                                 ---->                       ---->  g g g g g g g g
 *              load order: channel, pixel   in load order            b b b b b b b b
 *                                                                    store order: pixel, channel
 *
 * thread   loads every 256th word of the tile in load order, and stores every 256th in store order.
 *          Where these words are, in the input, in shared memory and in the result, is the same for
 *          all tiles: it is worked out once, and kept in registers while the block goes from tile
 *          to tile. The next tile is loaded while this one is stored.
 * word     units of 1 or 2 bytes are joined to 4 bytes, where they lie together on that side.
 * Banks    spare bytes between the rows of a tile; the plan counts the conflicts of a few numbers
 *          of them, and takes the best.
 */
#include "permute.h"

/* Numbers of 16 bits, two in a register. */
template <int COUNT> struct packed_shorts {
    uint32_t pair[(COUNT + 1) / 2];
};

/* They stay pairs: the compiler must not take them apart before a loop, for which there are not
 * enough registers. */
template <int COUNT> GM_DEVICE void packed_keep(packed_shorts<COUNT> &shorts)
{
#ifdef __CUDACC__
#pragma unroll
    for (int i = 0; i < (COUNT + 1) / 2; i++) {
        asm volatile("" : "+r"(shorts.pair[i]));
    }
#else
    (void)shorts;
#endif
}

template <int COUNT> GM_DEVICE uint32_t packed_get(const packed_shorts<COUNT> &shorts, int i)
{
    return i % 2 ? shorts.pair[i / 2] >> 16 : shorts.pair[i / 2] & 0xffff;
}

template <int COUNT> GM_DEVICE void packed_set(packed_shorts<COUNT> &shorts, int i, uint32_t value)
{
    shorts.pair[i / 2] = i % 2 ? shorts.pair[i / 2] | value << 16 : value;
}

/* What a thread does in each tile. Places in arrays are in words, in shared memory in bytes. */
template <int ITEMS, int STORE> struct packed_thread {
    int32_t from[ITEMS], to[ITEMS];
    packed_shorts<ITEMS> in;
    packed_shorts<ITEMS * STORE> out;
    /* Bit k: word k is within a last tile along rag[i].axis; [PACKED_RAGGED]: within any tile. */
    uint32_t loads[PACKED_RAGGED + 1], stores[PACKED_RAGGED + 1];
};

/* Where tile number `index` begins, and which axes have fewer units in it. */
struct packed_place {
    const char *in;
    char *out;
    unsigned last; /* bit i: it is the last along a.rag[i].axis */
};

GM_DEVICE packed_place packed_place_of(const permute_packed_args &a, uint32_t index)
{
    packed_place place = {a.in, a.out, 0};
    for (int d = 0; d < a.ndim; d++) {
        const permute_packed_axis &axis = a.axis[d];
        const uint32_t at = permute_take(&index, axis.tiles);
        const int64_t start = (int64_t)at * axis.tile.by;
        place.in += start * axis.from;
        place.out += start * axis.to;
        for (unsigned i = 0; i < a.ragged; i++) {
            place.last |= (a.rag[i].axis == (unsigned)d && at + 1 == axis.tiles.by) << i;
        }
    }
    return place;
}

/* Is unit number i of a tile within the arrays, where the tile is the last along rag[k].axis? */
GM_DEVICE bool packed_inside(const permute_packed_args &a, int k, uint32_t i, bool load)
{
    uint32_t at = permute_divide(i, load ? a.rag[k].load : a.rag[k].store);
    return permute_take(&at, a.axis[a.rag[k].axis].tile) < a.rag[k].last;
}

/* Bit k: does the thread move word k of this tile? */
GM_DEVICE uint32_t packed_words(unsigned last, const uint32_t *inside)
{
    uint32_t words = inside[PACKED_RAGGED];
#pragma unroll
    for (int k = 0; k < PACKED_RAGGED; k++) {
        words &= last >> k & 1 ? inside[k] : 0xffffffffu;
    }
    return words;
}

template <typename load_word, typename store_word, int LOAD, int ITEMS, int STORE>
GM_DEVICE void packed_prepare(const permute_packed_args &a, packed_thread<ITEMS, STORE> &thread)
{
#pragma unroll
    for (int i = 0; i <= PACKED_RAGGED; i++) {
        thread.loads[i] = thread.stores[i] = 0;
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const uint32_t word = k * PACKED_THREADS + threadIdx.x;
            const bool any = i == PACKED_RAGGED;
            const bool given = any || i < a.ragged;
            thread.loads[i] |= (uint32_t)(given && (any ? word * LOAD < a.units
                                                        : packed_inside(a, i, word * LOAD, true)))
                               << k;
            thread.stores[i] |=
                (uint32_t)(given && (any ? word * STORE < a.units
                                         : packed_inside(a, i, word * STORE, false)))
                << k;
        }
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        uint32_t rest = (k * PACKED_THREADS + threadIdx.x) * LOAD, at = 0;
        int64_t from = 0;
        for (int i = 0; i < a.loads; i++) {
            const permute_packed_axis &axis = a.axis[a.load_order[i]];
            const uint32_t c = permute_take(&rest, axis.tile);
            from += c * axis.from;
            at += c * axis.pitch;
        }
        thread.from[k] = (int32_t)(from / (int64_t)sizeof(load_word));
        packed_set(thread.in, k, at);
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
#pragma unroll
        for (int j = 0; j < STORE; j++) {
            uint32_t rest = (k * PACKED_THREADS + threadIdx.x) * STORE + j, at = 0;
            int64_t to = 0;
            for (int i = 0; i < a.stores; i++) {
                const permute_packed_axis &axis = a.axis[a.store_order[i]];
                const uint32_t c = permute_take(&rest, axis.tile);
                to += c * axis.to;
                at += c * axis.pitch;
            }
            packed_set(thread.out, k * STORE + j, at);
            if (j == 0) {
                thread.to[k] = (int32_t)(to / (int64_t)sizeof(store_word));
            }
        }
    }
}

template <typename word, int ITEMS, int STORE>
GM_DEVICE void packed_load(const packed_place &place, const packed_thread<ITEMS, STORE> &thread,
                           word *held)
{
    const uint32_t words = packed_words(place.last, thread.loads);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (words >> k & 1) {
            held[k] = ((const word *)place.in)[thread.from[k]];
        }
    }
}

template <typename unit, typename word, int ITEMS, int STORE>
GM_DEVICE void packed_store(const packed_place &place, const packed_thread<ITEMS, STORE> &thread,
                            const char *tile)
{
    const uint32_t words = packed_words(place.last, thread.stores);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (words >> k & 1) {
            if constexpr (STORE == 1) {
                ((unit *)place.out)[thread.to[k]] =
                    *(const unit *)(tile + packed_get(thread.out, k));
            } else {
                word joined = 0;
#pragma unroll
                for (int j = 0; j < STORE; j++) {
                    joined |= (word) * (const unit *)(tile + packed_get(thread.out, k * STORE + j))
                              << j * 8 * (int)sizeof(unit);
                }
                ((word *)place.out)[thread.to[k]] = joined;
            }
        }
    }
}

template <typename unit, typename load_word, typename store_word>
GM_DEVICE void packed_move(const permute_packed_args &a, char *tile)
{
    const int LOAD = sizeof(load_word) / sizeof(unit), STORE = sizeof(store_word) / sizeof(unit);
    const int ITEMS =
        sizeof(unit) <= 4 ? (int)PACKED_ITEMS : PACKED_BYTES / PACKED_THREADS / (int)sizeof(unit);
    packed_thread<ITEMS, STORE> thread;
    load_word held[ITEMS] = {};

    packed_prepare<load_word, store_word, LOAD>(a, thread);
    packed_place place = packed_place_of(a, blockIdx.x);
    packed_load(place, thread, held);
#pragma unroll 1
    for (uint32_t index = blockIdx.x; index < a.tiles; index += gridDim.x) {
        packed_keep(thread.in);
        packed_keep(thread.out);
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            if (thread.loads[PACKED_RAGGED] >> k & 1) {
                *(load_word *)(tile + packed_get(thread.in, k)) = held[k];
            }
        }
        __syncthreads();
        const packed_place here = place;
        if (a.tiles - index > gridDim.x) {
            place = packed_place_of(a, index + gridDim.x);
            packed_load(place, thread, held);
        }
        packed_store<unit, store_word>(here, thread, tile);
        __syncthreads();
    }
}

template <typename unit> GM_DEVICE void packed_small(const permute_packed_args &a, char *tile)
{
    if (a.load_word == 1) {
        if (a.store_word == 1) {
            packed_move<unit, unit, unit>(a, tile);
        } else {
            packed_move<unit, unit, uint32_t>(a, tile);
        }
    } else if (a.store_word == 1) {
        packed_move<unit, uint32_t, unit>(a, tile);
    } else {
        packed_move<unit, uint32_t, uint32_t>(a, tile);
    }
}

GM_KERNEL_BOUNDED(permute_packed, permute_packed_args, PACKED_THREADS, 2)
{
    __shared__ __align__(16) char tile[PACKED_ROOM];
    switch (a.unit) {
    case 1: packed_small<uint8_t>(a, tile); break;
    case 2: packed_small<uint16_t>(a, tile); break;
    case 4: packed_move<uint32_t, uint32_t, uint32_t>(a, tile); break;
    case 8: packed_move<uint2, uint2, uint2>(a, tile); break;
    case 16: packed_move<uint4, uint4, uint4>(a, tile); break;
    }
}
