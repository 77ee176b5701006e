/*
 * A linear tile: a part of a narrow matrix that is one run of memory, kept in shared memory in the
 * order of its addresses. Of few columns it is a run of rows with all of their columns; of few rows
 * it is so of the output.
 *
 *      rows of 3 elements        the tile: byte 0, 1, 2, ... of the run
 *      +---+---+---+
 *      | 0 | 1 | 2 |             | 0 1 2 3 4 5 6 7 8 ...  a line of 128 bytes | spare | ...
 *      | 3 | 4 | 5 |
 *      | 6 | 7 | 8 |
 *
 * thread  an access of up to 16 bytes, and the one that is as many further as the block has
 *         threads; LINEAR_BATCH bytes of its loads are in flight together.
 * warp    neighbouring accesses, whole sectors.
 * block   the tile. The bytes after the last whole access go one to a thread.
 *
 * What reads and writes the tile the other way round steps through it in strides of a row. A layout
 * keeps such lanes off each other's banks: spare bytes after every line, or words of a line that
 * change places.
 */
#ifndef GPUMEM_TRANSPOSE_LINEAR_TILE_H
#define GPUMEM_TRANSPOSE_LINEAR_TILE_H

#include "transpose.h"

enum {
    LINEAR_THREADS = 256, /* of a block */
    LINEAR_BATCH = 64,    /* bytes in flight per thread */
    LINEAR_LINE = 128,    /* bytes */
};

/* ---- layouts ------------------------------------------------------------------------------- */

/* SPARE bytes after every line. */
template <int SPARE> struct linear_padded {
};

template <int SPARE> GM_DEVICE char *linear_place(char *tile, unsigned at, linear_padded<SPARE>)
{
    return tile + at + at / LINEAR_LINE * SPARE;
}

/* The words of line n change places: word w is at w ^ (n & mask). */
typedef struct linear_swizzled {
    unsigned mask;
} linear_swizzled;

GM_DEVICE char *linear_place(char *tile, unsigned at, linear_swizzled layout)
{
    return tile + (at ^ (at / (LINEAR_LINE / 4) & layout.mask * 4));
}

/* ---- accesses of the tile ------------------------------------------------------------------ */

template <typename access, typename type>
GM_DEVICE void linear_write(char *tile, unsigned at, type layout, access held)
{
    *(access *)linear_place(tile, at, layout) = held;
}

template <typename access, typename type>
GM_DEVICE void linear_read(char *tile, unsigned at, type layout, access &held)
{
    held = *(const access *)linear_place(tile, at, layout);
}

/* 16 bytes, in accesses as wide as the spare bytes leave them aligned. */
template <int SPARE>
GM_DEVICE void linear_write(char *tile, unsigned at, linear_padded<SPARE> layout, uint4 held)
{
    char *to = linear_place(tile, at, layout);
    if constexpr (SPARE % 16 == 0) {
        *(uint4 *)to = held;
    } else if constexpr (SPARE % 8 == 0) {
        ((uint2 *)to)[0] = make_uint2(held.x, held.y);
        ((uint2 *)to)[1] = make_uint2(held.z, held.w);
    } else {
        ((uint32_t *)to)[0] = held.x;
        ((uint32_t *)to)[1] = held.y;
        ((uint32_t *)to)[2] = held.z;
        ((uint32_t *)to)[3] = held.w;
    }
}

template <int SPARE>
GM_DEVICE void linear_read(char *tile, unsigned at, linear_padded<SPARE> layout, uint4 &held)
{
    const char *from = linear_place(tile, at, layout);
    if constexpr (SPARE % 16 == 0) {
        held = *(const uint4 *)from;
    } else if constexpr (SPARE % 8 == 0) {
        const uint2 low = ((const uint2 *)from)[0], high = ((const uint2 *)from)[1];
        held = make_uint4(low.x, low.y, high.x, high.y);
    } else {
        held.x = ((const uint32_t *)from)[0];
        held.y = ((const uint32_t *)from)[1];
        held.z = ((const uint32_t *)from)[2];
        held.w = ((const uint32_t *)from)[3];
    }
}

/* 16 bytes whose words are apart. */
GM_DEVICE void linear_write(char *tile, unsigned at, linear_swizzled layout, uint4 held)
{
    *(uint32_t *)linear_place(tile, at, layout) = held.x;
    *(uint32_t *)linear_place(tile, at + 4, layout) = held.y;
    *(uint32_t *)linear_place(tile, at + 8, layout) = held.z;
    *(uint32_t *)linear_place(tile, at + 12, layout) = held.w;
}

GM_DEVICE void linear_read(char *tile, unsigned at, linear_swizzled layout, uint4 &held)
{
    held.x = *(const uint32_t *)linear_place(tile, at, layout);
    held.y = *(const uint32_t *)linear_place(tile, at + 4, layout);
    held.z = *(const uint32_t *)linear_place(tile, at + 8, layout);
    held.w = *(const uint32_t *)linear_place(tile, at + 12, layout);
}

/* ---- from and to global memory ------------------------------------------------------------- */

/* One access; the L2 keeps the lines of words and wider ones. */
template <typename access> GM_DEVICE access linear_fetch(const char *from)
{
    if constexpr (sizeof(access) < 4) {
        return *(const access *)from;
    } else {
        return gm_load_kept((const access *)from);
    }
}

template <typename access, typename type>
GM_DEVICE void linear_load(char *tile, type layout, const char *in, unsigned bytes)
{
    const unsigned size = sizeof(access), whole = bytes - bytes % size;
    const unsigned batch = LINEAR_BATCH / size < 8 ? LINEAR_BATCH / size : 8;
    for (unsigned base = threadIdx.x * size; base < whole; base += batch * LINEAR_THREADS * size) {
        /* Initialised: otherwise registers keep what they held from one turn of the loop to the
         * next. */
        access held[batch] = {};
#pragma unroll
        for (unsigned i = 0; i < batch; i++) {
            const unsigned at = base + i * LINEAR_THREADS * size;
            if (at < whole) {
                held[i] = linear_fetch<access>(in + at);
            }
        }
#pragma unroll
        for (unsigned i = 0; i < batch; i++) {
            const unsigned at = base + i * LINEAR_THREADS * size;
            if (at < whole) {
                linear_write(tile, at, layout, held[i]);
            }
        }
    }
    for (unsigned at = whole + threadIdx.x; at < bytes; at += LINEAR_THREADS) {
        *linear_place(tile, at, layout) = in[at];
    }
}

template <typename access, typename type>
GM_DEVICE void linear_store(char *tile, type layout, char *out, unsigned bytes)
{
    const unsigned size = sizeof(access), whole = bytes - bytes % size;
#pragma unroll 4
    for (unsigned at = threadIdx.x * size; at < whole; at += LINEAR_THREADS * size) {
        access held;
        linear_read(tile, at, layout, held);
        *(access *)(out + at) = held;
    }
    for (unsigned at = whole + threadIdx.x; at < bytes; at += LINEAR_THREADS) {
        out[at] = *linear_place(tile, at, layout);
    }
}

#endif
