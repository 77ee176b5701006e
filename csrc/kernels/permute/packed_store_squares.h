/*
 * packed: from a tile in shared memory to rows of the result, in squares of small units.
 *
 * Where units are joined to words of N, and the tile's closest axes are not in a row of the result,
 * a thread reads words of N units that lie side by side on chip, N of them at a time, transposes
 * these, and has words for N rows: vectors of 16 bytes, so that what it reads of the tables serves
 * four words of a row. The table has rows in the order of the units on chip, whose number need not
 * be a multiple of N: the last rows of a group are nowhere then. Example, 3 channels, N = 4:
 *
 *     on chip    r g b r   g b r g   b r g b      of pixels 0 to 3
 *     group 0    rows r, g, b of pixel 0; r of pixel 1
 *     group 1    rows g, b of pixel 1; r, g of pixel 2
 *
 * A group that does not begin at a word is joined from two of them.
 */
#ifndef GPUMEM_PERMUTE_PACKED_STORE_SQUARES_H
#define GPUMEM_PERMUTE_PACKED_STORE_SQUARES_H

#include "packed_tables.h"
#include "squares.h"

/* The rows of a group, which are side by side in the table: two at a time. */
template <int N> GM_DEVICE void packed_read_group(const packed_row *rows, packed_row (&found)[N])
{
#pragma unroll
    for (int j = 0; j < N; j += 2) {
        const uint4 two = *(const uint4 *)(rows + j);
        found[j].at = (int32_t)two.x;
        found[j].bits = two.y;
        found[j + 1].at = (int32_t)two.z;
        found[j + 1].bits = two.w;
    }
}

/* N words of N units as a word for each of N rows. */
template <int N> GM_DEVICE void packed_square(const uint32_t *words, uint32_t (&held)[N])
{
    uint32_t square[N];
#pragma unroll
    for (int j = 0; j < N; j++) {
        square[j] = words[j];
    }
    transpose_words(square, held);
}

template <typename unit, bool HALO>
GM_DEVICE void packed_store_squares(const permute_packed_args &a, const packed_place &place,
                                    packed_thread thread, const packed_shared &shared,
                                    uint32_t begin)
{
    enum { N = 4 / sizeof(unit), UNITS = 16 / sizeof(unit) };
    const permute_packed_side &side = a.store;
    const uint32_t last = place.last << 16 | PACKED_THERE, limit = packed_limit(side, place.last);
    const packed_sectors sectors = packed_sectors_of(a, place);
    const packed_address tile = packed_address_of(shared.tiles) + begin;

    for (uint32_t u = thread.u; u < limit; u += blockDim.x) {
        uint4 *to = (uint4 *)place.out + u;
        uint16_t found[UNITS];
        uint32_t units[UNITS];
        packed_settle_global(to);
        memcpy(found, __builtin_assume_aligned(shared.units + u * UNITS, 16), sizeof found);
#pragma unroll
        for (int j = 0; j < UNITS; j++) {
            units[j] = found[j];
            packed_settle(units[j]);
        }
        for (uint32_t r = thread.row * N; r < side.rows; r += side.together * N) {
            packed_row row[N];
            uint32_t words[1][UNITS], held[4][N];
            packed_read_group(shared.store + r, row);
            const packed_address at[1] = {tile + packed_place_in(row[0])};
            packed_read_words(at, units, a.unaligned, words);
#pragma unroll
            for (int w = 0; w < 4; w++) {
                packed_square<N>(words[0] + w * N, held[w]);
            }
#pragma unroll
            for (int j = 0; j < N; j++) {
                const uint32_t low = (uint32_t)(uintptr_t)to + (uint32_t)row[j].at * 16;
                if (packed_there(last, row[j]) &
                    (!HALO || packed_writes(sectors, (int32_t)u * 16, low))) {
                    to[row[j].at] = make_uint4(held[0][j], held[1][j], held[2][j], held[3][j]);
                }
            }
        }
    }
}

#endif
