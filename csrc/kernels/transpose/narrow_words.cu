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

template <typename unit, typename access>
GM_DEVICE void narrow_words_of(const transpose_args &a, char *tile)
{
    const int pitch = (int)(a.cols <= a.rows ? a.pitch : a.rows * (int64_t)sizeof(unit));
    switch (pitch % 4) {
    case 0: narrow_words<unit, access, 0>(a, tile); break;
    case 2: narrow_words<unit, access, 2>(a, tile); break;
    default:
        if constexpr (sizeof(unit) == 1) {
            if (pitch % 4 == 1) {
                narrow_words<unit, access, 1>(a, tile);
            } else {
                narrow_words<unit, access, 3>(a, tile);
            }
        }
    }
}

GM_KERNEL_BOUNDED(transpose_narrow_words, transpose_args, LINEAR_THREADS, 5)
{
    __shared__ __align__(16) char tile[LINEAR_BYTES + LINEAR_LINE];
    const bool whole = ((uintptr_t)(a.cols <= a.rows ? a.in : a.out) & 15) == 0;
    switch (a.itemsize * 2 + whole) {
    case 2: narrow_words_of<uint8_t, uint8_t>(a, tile); break;
    case 3: narrow_words_of<uint8_t, uint4>(a, tile); break;
    case 4: narrow_words_of<uint16_t, uint16_t>(a, tile); break;
    case 5: narrow_words_of<uint16_t, uint4>(a, tile); break;
    }
}
