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
 *              a row of 24 units            in load order            b b b b b b b b
 *                                                                    three rows of 8
 *
 * Rows     each side of a tile is rows of words: a row runs on in memory. Where rows begin, in
 *          memory and on chip, is the same in all tiles: a block writes it to tables once, and
 *          goes from tile to tile. One warp finds where the next tile but one begins, a lane for
 *          each axis. The tables of loads may be written while the previous kernel still runs,
 *          those of stores while the first tile is loaded.
 * Blocks   of large arrays leave after a few tiles: the longer they go on, the further they drift
 *          apart, and the more slowly memory serves them.
 * thread   keeps to one word of a row, and goes from row to row; of rows longer than a block to
 *          every 256th word. It loads by asynchronous copies, and meanwhile gathers the words of
 *          the tile before from shared memory, and stores them.
 * word     units of 1 or 2 bytes are joined to 4 bytes, where they lie together on that side. Rows
 *          of the input are loaded in vectors of up to 16 bytes, their ends with what is beside
 *          them: on chip they are as far from vectors as in memory. Rows of the result that begin
 *          anywhere have a kernel of their own: see packed_store_shifted.h.
 * Squares  where units are joined on both sides, a thread takes as many words as a word has units,
 *          transposes them in registers, and has a word for each of as many rows of the result; of
 *          rows of whole vectors of 16 bytes, a vector: see packed_store_squares.h.
 * Sectors  of large arrays a tile may complete those in which its rows of the result end, and leave
 *          those in which they begin to the tile before it: see plan_halo.c.
 * Barrier  one for each tile: when all warps have stored a tile, the next but one is loaded to its
 *          place. The last warp, which has the fewest rows, finds where tiles begin.
 * Banks    spare bytes between the rows of a tile; the plan counts the conflicts of a few numbers
 *          of them, and takes the best.
 * Machine  LDGSTS, LDS, PRMT, STG
 */
#include "packed_load.h"
#include "packed_store.h"
#include "packed_store_shifted.h"
#include "packed_store_squares.h"

/* Where a tile begins on chip: as far from a vector as in memory, if rows are. */
template <typename unit>
GM_DEVICE uint32_t packed_begin(const permute_packed_args &a, const packed_place &place)
{
    const bool shifted = sizeof(unit) <= 4 && a.load.shifted;
    return shifted ? (uint32_t)(uintptr_t)place.in & (a.load.word - 1) : 0;
}

/* How a kernel stores: rows in words, in squares of words, in words that begin anywhere, and in
 * squares of vectors. */
enum packed_way { PACKED_WORDS, PACKED_SQUARED, PACKED_SHIFTED, PACKED_SQUARES };

template <typename unit, packed_way WAY>
GM_DEVICE void packed_store_tile(const permute_packed_args &a, const packed_place &place,
                                 packed_thread thread, const packed_shared &shared, uint32_t begin)
{
    if constexpr (WAY == PACKED_SHIFTED) {
        packed_store_anywhere<unit>(a, place, thread, shared, begin);
    } else if constexpr (WAY == PACKED_WORDS) {
        packed_store_words<unit>(a, place, thread, shared, packed_address_of(shared.tiles) + begin);
    } else if constexpr (WAY == PACKED_SQUARED) {
        packed_store_side<unit, uint32_t, true>(a, place, thread, shared,
                                                packed_address_of(shared.tiles) + begin);
    } else if (a.halo) {
        packed_store_squares<unit, true>(a, place, thread, shared, begin);
    } else {
        packed_store_squares<unit, false>(a, place, thread, shared, begin);
    }
}

template <typename unit, packed_way WAY>
GM_DEVICE void packed_move(const permute_packed_args &a, char *memory)
{
    const packed_shared shared = packed_share(a, memory);
    const packed_thread load = packed_thread_of(a.load);
    const packed_thread store =
        WAY == PACKED_SHIFTED ? packed_shifted_thread(a.store) : packed_thread_of(a.store);

    packed_prepare_load(a, shared);
    if (WAY == PACKED_SHIFTED || (WAY == PACKED_SQUARES && a.clears)) {
        packed_clear(a, shared);
    }
    __syncthreads();
    gm_wait_for_previous();
    const uint32_t first = packed_first(a), end = packed_end(a, first);
    packed_load_words<unit>(a, shared.places[0], load, shared.load, shared.tiles);
    __pipeline_commit();
    packed_prepare_store(a, shared);
    uint32_t current = 0, buffer = 0; /* the place of the tile that is stored; where it is */
    for (uint32_t index = first;; index += a.wave) {
        /* The tile is there, and no warp stores from the other buffer any more. */
        gm_pipeline_wait_prior<0>();
        __syncthreads();
        const uint32_t next = current < 2 ? current + 1 : 0;
        const bool goes_on = index + a.wave < end;
        if (goes_on) {
            char *other = shared.tiles + (a.buffer - buffer);
            packed_load_words<unit>(a, shared.places[next], load, shared.load, other);
            __pipeline_commit();
            if (index + 2 * a.wave < end && packed_finds()) {
                packed_find(a, shared, index + 2 * a.wave,
                            shared.places + (next < 2 ? next + 1 : 0));
            }
        }
        const packed_place place = shared.places[current];
        packed_store_tile<unit, WAY>(a, place, store, shared,
                                     buffer + packed_begin<unit>(a, place));
        if (!goes_on) {
            break;
        }
        current = next;
        buffer = a.buffer - buffer;
    }
}

/* A kernel for each unit, and way to store small ones: what one keeps in registers is not in
 * another's way, and one with all of them is so long that calls wait for its instructions. */
GM_KERNEL_BOUNDED(permute_packed_small, permute_packed_args, PACKED_THREADS, PACKED_BLOCKS)
{
    GM_DYNAMIC_SHARED(char, memory);
    packed_move<uint8_t, PACKED_WORDS>(a, memory);
}

GM_KERNEL_BOUNDED(permute_packed_words, permute_packed_args, PACKED_THREADS, PACKED_BLOCKS)
{
    GM_DYNAMIC_SHARED(char, memory);
    packed_move<uint32_t, PACKED_WORDS>(a, memory);
}

GM_KERNEL_BOUNDED(permute_packed_small_squared, permute_packed_args, PACKED_THREADS, PACKED_BLOCKS)
{
    GM_DYNAMIC_SHARED(char, memory);
    packed_move<uint8_t, PACKED_SQUARED>(a, memory);
}

GM_KERNEL_BOUNDED(permute_packed_small_squares, permute_packed_args, PACKED_THREADS, PACKED_BLOCKS)
{
    GM_DYNAMIC_SHARED(char, memory);
    packed_move<uint8_t, PACKED_SQUARES>(a, memory);
}

GM_KERNEL_BOUNDED(permute_packed_small_shifted, permute_packed_args, PACKED_THREADS, PACKED_BLOCKS)
{
    GM_DYNAMIC_SHARED(char, memory);
    packed_move<uint8_t, PACKED_SHIFTED>(a, memory);
}

GM_KERNEL_BOUNDED(permute_packed_small_b16, permute_packed_args, PACKED_THREADS, PACKED_BLOCKS)
{
    GM_DYNAMIC_SHARED(char, memory);
    packed_move<uint16_t, PACKED_WORDS>(a, memory);
}

GM_KERNEL_BOUNDED(permute_packed_small_b16_squared, permute_packed_args, PACKED_THREADS,
                  PACKED_BLOCKS)
{
    GM_DYNAMIC_SHARED(char, memory);
    packed_move<uint16_t, PACKED_SQUARED>(a, memory);
}

GM_KERNEL_BOUNDED(permute_packed_small_b16_squares, permute_packed_args, PACKED_THREADS,
                  PACKED_BLOCKS)
{
    GM_DYNAMIC_SHARED(char, memory);
    packed_move<uint16_t, PACKED_SQUARES>(a, memory);
}

GM_KERNEL_BOUNDED(permute_packed_small_b16_shifted, permute_packed_args, PACKED_THREADS,
                  PACKED_BLOCKS)
{
    GM_DYNAMIC_SHARED(char, memory);
    packed_move<uint16_t, PACKED_SHIFTED>(a, memory);
}

GM_KERNEL_BOUNDED(permute_packed_words_b64, permute_packed_args, PACKED_THREADS, PACKED_BLOCKS)
{
    GM_DYNAMIC_SHARED(char, memory);
    packed_move<uint2, PACKED_WORDS>(a, memory);
}

GM_KERNEL_BOUNDED(permute_packed_words_b128, permute_packed_args, PACKED_THREADS, PACKED_BLOCKS)
{
    GM_DYNAMIC_SHARED(char, memory);
    packed_move<uint4, PACKED_WORDS>(a, memory);
}
