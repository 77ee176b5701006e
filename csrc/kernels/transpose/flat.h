/*
 * The side of a narrow matrix that is one piece of memory: a run of its rows with all of their few
 * columns, or the other way round. It is moved in the order of addresses.
 */
#ifndef GPUMEM_TRANSPOSE_FLAT_H
#define GPUMEM_TRANSPOSE_FLAT_H

#include "transpose.h"

enum {
    FLAT_THREADS = 256,
    FLAT_BATCH = 64, /* bytes in flight per thread */
    FLAT_LINE = 128, /* bytes of shared memory from one spare piece to the next */
};

/* Where byte `at` of the piece is kept: in its place, */
typedef struct flat_plain {
    char none; /* C has no empty structs */
} flat_plain;

GM_DEVICE char *flat_place(char *piece, unsigned at, flat_plain)
{
    return piece + at;
}

/* or where the units of a line have changed places, of so many bytes each: `mask` is that many
 * units of it, less one. */
template <int UNIT> struct flat_swizzled {
    unsigned mask;
};

/* For lanes that are `apart` units apart: as many as would share a bank. */
template <int UNIT> GM_DEVICE flat_swizzled<UNIT> flat_swizzle(unsigned apart)
{
    const unsigned most = FLAT_LINE / UNIT - 1;
    flat_swizzled<UNIT> how = {((apart & (0 - apart)) - 1) & most};
    return how;
}

template <int UNIT> GM_DEVICE char *flat_place(char *piece, unsigned at, flat_swizzled<UNIT> how)
{
    return piece + (at ^ (at / (FLAT_LINE / UNIT) & how.mask * UNIT));
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

/* 16 bytes whose units have changed places. */
template <int UNIT>
GM_DEVICE void flat_put(char *piece, unsigned at, flat_swizzled<UNIT> how, uint4 held)
{
    if constexpr (UNIT == 16) {
        *(uint4 *)flat_place(piece, at, how) = held;
    } else if constexpr (UNIT == 8) {
        *(uint2 *)flat_place(piece, at, how) = make_uint2(held.x, held.y);
        *(uint2 *)flat_place(piece, at + 8, how) = make_uint2(held.z, held.w);
    } else {
        *(uint32_t *)flat_place(piece, at, how) = held.x;
        *(uint32_t *)flat_place(piece, at + 4, how) = held.y;
        *(uint32_t *)flat_place(piece, at + 8, how) = held.z;
        *(uint32_t *)flat_place(piece, at + 12, how) = held.w;
    }
}

template <int UNIT>
GM_DEVICE void flat_get(char *piece, unsigned at, flat_swizzled<UNIT> how, uint4 &held)
{
    if constexpr (UNIT == 16) {
        held = *(const uint4 *)flat_place(piece, at, how);
    } else if constexpr (UNIT == 8) {
        const uint2 low = *(const uint2 *)flat_place(piece, at, how);
        const uint2 high = *(const uint2 *)flat_place(piece, at + 8, how);
        held = make_uint4(low.x, low.y, high.x, high.y);
    } else {
        held.x = *(const uint32_t *)flat_place(piece, at, how);
        held.y = *(const uint32_t *)flat_place(piece, at + 4, how);
        held.z = *(const uint32_t *)flat_place(piece, at + 8, how);
        held.w = *(const uint32_t *)flat_place(piece, at + 12, how);
    }
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
