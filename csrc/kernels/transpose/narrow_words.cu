/*
 * transpose / narrow_words: few columns, or few rows, of elements of 1 or 2 bytes.
 *
 * Follows  narrow, which moves every element by itself on the side of the strips.
 * Idea     the same tile and strips, in words of N elements: squares of N by N are transposed in
 *          registers, for as many instructions as one element took. See strips.h for who has what.
 * Shifts   a row of the tile begins at any byte of a word, always the same one in rows that are N
 *          apart. A strip of the output begins at any byte of a sector: lanes join its words from
 *          their own and their neighbour's, and hand them on to the lanes where sectors begin.
 * Banks    lanes are as many words apart as there are columns: for a multiple of four, the words of
 *          a line change places from line to line, as many of them as would share a bank. For 2, 6,
 *          10, ... columns lanes share banks in pairs, which costs less than to avoid it.
 * Build    plain -O1
 */
#include "strips_load.h"
#include "strips_store.h"

/* The layout of a tile where lanes are `apart` words from one to the next; rows begin REST bytes
 * beyond words. */
template <int REST> GM_DEVICE auto narrow_words_layout(unsigned apart)
{
    if constexpr (REST == 0) {
        return linear_swizzled{((apart & (0 - apart)) - 1) & 31};
    } else {
        return linear_padded<0>{};
    }
}

template <typename unit, typename access, int REST>
GM_DEVICE void narrow_words(const transpose_args &a, char *tile)
{
    const unsigned size = sizeof(unit);
    const bool few_columns = a.cols <= a.rows;
    const unsigned few = (unsigned)(few_columns ? a.cols : a.rows);
    const int64_t first = blockIdx.x * a.strip;
    const unsigned length = (unsigned)min((few_columns ? a.rows : a.cols) - first, a.strip);
    const unsigned pitch = few_columns ? (unsigned)a.pitch : few * size; /* of the tile */
    const unsigned bytes = (length - 1) * pitch + few * size;
    const auto layout = narrow_words_layout<REST>(pitch / size);

    gm_wait_for_previous();
    if (few_columns) { /* the tile has the gaps between rows, too */
        linear_load<access>(tile, layout, a.in + first * pitch, bytes);
        if (threadIdx.x < 8) { /* the last word of the last row ends in there */
            *linear_place(tile, bytes + threadIdx.x, layout) = 0;
        }
        __syncthreads();
        char *out = a.out + first * size;
        const int64_t out_pitch = a.rows * size;
        if (((uintptr_t)out | (uintptr_t)out_pitch) % TRANSPOSE_SECTOR == 0) {
            strips_store<unit, REST, false>(tile, layout, pitch, out, out_pitch, few, length);
        } else {
            strips_store<unit, REST, true>(tile, layout, pitch, out, out_pitch, few, length);
        }
        return;
    }
    const char *from = a.in + first * size;
    /* Whole words at the ends of the strips are in the rows, unless the strips are at their ends.
     */
    const bool checked = first == 0 || first + length + 4 > a.cols;
    if constexpr (REST == 0) {
        if (checked) {
            strips_load_squares<unit, true>(tile, layout, from, a.pitch, few, length);
        } else {
            strips_load_squares<unit, false>(tile, layout, from, a.pitch, few, length);
        }
    } else if (checked) {
        strips_load_elements<unit, true>(tile, from, a.pitch, few, length);
    } else {
        strips_load_elements<unit, false>(tile, from, a.pitch, few, length);
    }
    __syncthreads();
    linear_store<access>(tile, layout, a.out + first * pitch, bytes);
}

/* A kernel for each element, for vectors or elements on the side where all is in a row, and for
 * each number of bytes by which rows of the tile begin beyond words: one with all of them is so
 * long that calls wait for its instructions. */
#define NARROW(unit, access, REST)                                                                 \
    __shared__ __align__(16) char tile[LINEAR_BYTES + LINEAR_LINE];                                \
    narrow_words<unit, access, REST>(a, tile)
#define WAY(name, unit, access, REST)                                                              \
    GM_KERNEL_BOUNDED(transpose_narrow_words_##name, transpose_args, LINEAR_THREADS, 5)            \
    {                                                                                              \
        NARROW(unit, access, REST);                                                                \
    }

GM_KERNEL_BOUNDED(transpose_narrow_words, transpose_args, LINEAR_THREADS, 5)
{
    NARROW(uint8_t, uint4, 0);
}

WAY(b8_1, uint8_t, uint4, 1)
WAY(b8_2, uint8_t, uint4, 2)
WAY(b8_3, uint8_t, uint4, 3)
WAY(b8_loose_0, uint8_t, uint8_t, 0)
WAY(b8_loose_1, uint8_t, uint8_t, 1)
WAY(b8_loose_2, uint8_t, uint8_t, 2)
WAY(b8_loose_3, uint8_t, uint8_t, 3)
WAY(b16_0, uint16_t, uint4, 0)
WAY(b16_2, uint16_t, uint4, 2)
WAY(b16_loose_0, uint16_t, uint16_t, 0)
WAY(b16_loose_2, uint16_t, uint16_t, 2)
