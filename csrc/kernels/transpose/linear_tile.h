/*
 * The side of a narrow matrix that is one piece of memory: a run of its rows with all of their few
 * columns, or the other way round. It is moved in the order of addresses.
 */
#ifndef GPUMEM_TRANSPOSE_LINEAR_TILE_H
#define GPUMEM_TRANSPOSE_LINEAR_TILE_H

#include "transpose.h"

enum {
    FLAT_THREADS = 256,
    FLAT_BATCH = 64, /* bytes in flight per thread */
    FLAT_LINE = 128, /* bytes of shared memory from one spare piece to the next */
};

/* Where byte `at` of the piece is kept: with SPARE bytes after every line, */
template <int SPARE> struct flat_spaced {
};

template <int SPARE> GM_DEVICE char *flat_place(char *piece, unsigned at, flat_spaced<SPARE>)
{
    return piece + at + at / FLAT_LINE * SPARE;
}

/* or where the words of a line have changed places: `mask` is that many words of it, less one. */
typedef struct flat_swizzled {
    unsigned mask;
} flat_swizzled;

GM_DEVICE char *flat_place(char *piece, unsigned at, flat_swizzled how)
{
    return piece + (at ^ (at / (FLAT_LINE / 4) & how.mask * 4));
}

template <typename flat, typename place>
GM_DEVICE void flat_put(char *piece, unsigned at, place how, flat held)
{
    *(flat *)flat_place(piece, at, how) = held;
}

template <typename flat, typename place>
GM_DEVICE void flat_get(char *piece, unsigned at, place how, flat &held)
{
    held = *(const flat *)flat_place(piece, at, how);
}

/* 16 bytes that begin at a multiple of what is spare. */
template <int SPARE>
GM_DEVICE void flat_put(char *piece, unsigned at, flat_spaced<SPARE> how, uint4 held)
{
    char *to = flat_place(piece, at, how);
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
GM_DEVICE void flat_get(char *piece, unsigned at, flat_spaced<SPARE> how, uint4 &held)
{
    const char *from = flat_place(piece, at, how);
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

/* 16 bytes whose words have changed places. */
GM_DEVICE void flat_put(char *piece, unsigned at, flat_swizzled how, uint4 held)
{
    *(uint32_t *)flat_place(piece, at, how) = held.x;
    *(uint32_t *)flat_place(piece, at + 4, how) = held.y;
    *(uint32_t *)flat_place(piece, at + 8, how) = held.z;
    *(uint32_t *)flat_place(piece, at + 12, how) = held.w;
}

GM_DEVICE void flat_get(char *piece, unsigned at, flat_swizzled how, uint4 &held)
{
    held.x = *(const uint32_t *)flat_place(piece, at, how);
    held.y = *(const uint32_t *)flat_place(piece, at + 4, how);
    held.z = *(const uint32_t *)flat_place(piece, at + 8, how);
    held.w = *(const uint32_t *)flat_place(piece, at + 12, how);
}

/* One access; the L2 is asked to keep what words are in. */
template <typename flat> GM_DEVICE flat flat_fetch(const char *from)
{
    if constexpr (sizeof(flat) < 4) {
        return *(const flat *)from;
    } else {
        return gm_load_kept((const flat *)from);
    }
}

template <typename flat, typename place>
GM_DEVICE void flat_load(char *piece, place how, const char *in, unsigned bytes)
{
    const unsigned size = sizeof(flat), whole = bytes - bytes % size;
    const unsigned batch = FLAT_BATCH / size < 8 ? FLAT_BATCH / size : 8;
    for (unsigned base = threadIdx.x * size; base < whole; base += batch * FLAT_THREADS * size) {
        /* Set: else what is not loaded is what a register held the turn before, and all of them are
         * kept from turn to turn. */
        flat held[batch] = {};
#pragma unroll
        for (unsigned i = 0; i < batch; i++) {
            const unsigned at = base + i * FLAT_THREADS * size;
            if (at < whole) {
                held[i] = flat_fetch<flat>(in + at);
            }
        }
#pragma unroll
        for (unsigned i = 0; i < batch; i++) {
            const unsigned at = base + i * FLAT_THREADS * size;
            if (at < whole) {
                flat_put(piece, at, how, held[i]);
            }
        }
    }
    for (unsigned at = whole + threadIdx.x; at < bytes; at += FLAT_THREADS) {
        *flat_place(piece, at, how) = in[at];
    }
}

template <typename flat, typename place>
GM_DEVICE void flat_store(char *piece, place how, char *out, unsigned bytes)
{
    const unsigned size = sizeof(flat), whole = bytes - bytes % size;
#pragma unroll 4
    for (unsigned at = threadIdx.x * size; at < whole; at += FLAT_THREADS * size) {
        flat held;
        flat_get(piece, at, how, held);
        *(flat *)(out + at) = held;
    }
    for (unsigned at = whole + threadIdx.x; at < bytes; at += FLAT_THREADS) {
        out[at] = *flat_place(piece, at, how);
    }
}

#endif
