/*
 * transpose / narrow_words: few columns, or few rows, of elements of 1 or 2 bytes.
 *
 * Follows  narrow, which moves every element by itself on one side.
 * Idea     the same pieces, in words of N elements: N rows by N columns are turned in registers,
 *          for as many instructions as one element took. Lanes have rows one after the other.
 * Shifts   a row of the piece begins at any byte of a word, always the same one in rows that are
 *          N apart. A run begins at any byte of a sector: lanes join its words from their own and
 *          their neighbour's, and hand them on to the lanes where sectors begin.
 * Banks    lanes are as many words apart as there are columns: for a multiple of four, the words
 *          of a line change places from line to line, so many of them as would share a bank.
 *          For 2, 6, 10, ... columns lanes meet in pairs, which costs less than to avoid it.
 * Build    plain -O1
 */
#include "strips_load.h"
#include "strips_store.h"

/* The order of a piece whose rows, `apart` words from one lane's to the next one's, begin REST
 * bytes beyond words. */
template <int REST> GM_DEVICE auto narrow_words_order(unsigned apart)
{
    if constexpr (REST == 0) {
        return flat_swizzled{((apart & (0 - apart)) - 1) & 31};
    } else {
        return flat_spaced<0>{};
    }
}

template <typename unit, typename flat, int REST>
GM_DEVICE void narrow_words(const transpose_args &a, char *piece)
{
    const unsigned size = sizeof(unit);
    const bool few_columns = a.cols <= a.rows;
    const unsigned few = (unsigned)(few_columns ? a.cols : a.rows);
    const int64_t first = blockIdx.x * a.run;
    const unsigned here = (unsigned)min((few_columns ? a.rows : a.cols) - first, a.run);
    const unsigned pitch = few_columns ? (unsigned)a.pitch : few * size; /* of the piece */
    const unsigned bytes = (here - 1) * pitch + few * size;
    const auto how = narrow_words_order<REST>(pitch / size);

    gm_wait_for_previous();
    if (few_columns) { /* the piece has the gaps between rows, too */
        flat_load<flat>(piece, how, a.in + first * pitch, bytes);
        if (threadIdx.x < 8) { /* the last word of the last row ends there */
            *flat_place(piece, bytes + threadIdx.x, how) = 0;
        }
        __syncthreads();
        char *out = a.out + first * size;
        const int64_t out_pitch = a.rows * size;
        if (((uintptr_t)out | (uintptr_t)out_pitch) % TRANSPOSE_SECTOR == 0) {
            runs_store<unit, REST, false>(piece, how, pitch, out, out_pitch, few, here);
        } else {
            runs_store<unit, REST, true>(piece, how, pitch, out, out_pitch, few, here);
        }
        return;
    }
    const char *from = a.in + first * size;
    /* Whole words at the ends of the runs are in the rows, unless the runs are at their ends. */
    const bool care = first == 0 || first + here + 4 > a.cols;
    if constexpr (REST == 0) {
        if (care) {
            runs_load_squares<unit, true>(piece, how, from, a.pitch, few, here);
        } else {
            runs_load_squares<unit, false>(piece, how, from, a.pitch, few, here);
        }
    } else if (care) {
        runs_load<unit, true>(piece, from, a.pitch, few, here);
    } else {
        runs_load<unit, false>(piece, from, a.pitch, few, here);
    }
    __syncthreads();
    flat_store<flat>(piece, how, a.out + first * pitch, bytes);
}

template <typename unit, typename flat>
GM_DEVICE void narrow_words_of(const transpose_args &a, char *piece)
{
    const int pitch = (int)(a.cols <= a.rows ? a.pitch : a.rows * (int64_t)sizeof(unit));
    switch (pitch % 4) {
    case 0: narrow_words<unit, flat, 0>(a, piece); break;
    case 2: narrow_words<unit, flat, 2>(a, piece); break;
    default:
        if constexpr (sizeof(unit) == 1) {
            if (pitch % 4 == 1) {
                narrow_words<unit, flat, 1>(a, piece);
            } else {
                narrow_words<unit, flat, 3>(a, piece);
            }
        }
    }
}

GM_KERNEL_BOUNDED(transpose_narrow_words, transpose_args, FLAT_THREADS, 5)
{
    __shared__ __align__(16) char piece[TRANSPOSE_PIECE + FLAT_LINE];
    const bool whole = ((uintptr_t)(a.cols <= a.rows ? a.in : a.out) & 15) == 0;
    switch (a.itemsize * 2 + whole) {
    case 2: narrow_words_of<uint8_t, uint8_t>(a, piece); break;
    case 3: narrow_words_of<uint8_t, uint4>(a, piece); break;
    case 4: narrow_words_of<uint16_t, uint16_t>(a, piece); break;
    case 5: narrow_words_of<uint16_t, uint4>(a, piece); break;
    }
}
