/*
 * stream: reads some arrays and writes others, in any mix, with next to no arithmetic.
 *
 * Row w of the result is w xor all rows of `in`, word by word. If no row is written, the result is
 * one word, the xor of all: it depends on every word, so that the compiler keeps all loads.
 */
#ifndef GPUMEM_FAMILY_STREAM_H
#define GPUMEM_FAMILY_STREAM_H

#include <stdint.h>

enum {
    STREAM_MOST_ROWS = 4,      /* that are read, and that are written */
    STREAM_THREADS = 256,      /* of a block that walks in steps of the grid, */
    STREAM_BLOCKS = 6,         /* and such blocks per multiprocessor: 40 registers per thread */
    STREAM_TILE_THREADS = 512, /* of one that takes a tile after the other, */
    STREAM_TILE_BLOCKS = 4,    /* and such blocks per multiprocessor: 32 registers per thread */
};

typedef struct stream_args {
    const uint32_t *in; /* `reads` rows */
    uint32_t *out;      /* `writes` rows, or the one word */
    int64_t length;     /* words of a row */
    int reads, writes;
} stream_args;

#ifdef __cplusplus
#include "atomics.h"

/* Blocks of tiles that the registers have to suffice for: compute capability 12.0 has room for
 * fewer threads. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
#define STREAM_TILE_RESIDENT (STREAM_TILE_BLOCKS - 1)
#else
#define STREAM_TILE_RESIDENT STREAM_TILE_BLOCKS
#endif

/* Calls function<reads, whether rows are written>(a). */
#define STREAM_CASE(count, function, a)                                                            \
    case count:                                                                                    \
        if ((a).writes > 0) {                                                                      \
            function<count, true>(a);                                                              \
        } else {                                                                                   \
            function<count, false>(a);                                                             \
        }                                                                                          \
        break
#define STREAM_BY_READS(function, a)                                                               \
    switch ((a).reads) {                                                                           \
        STREAM_CASE(0, function, a);                                                               \
        STREAM_CASE(1, function, a);                                                               \
        STREAM_CASE(2, function, a);                                                               \
        STREAM_CASE(3, function, a);                                                               \
        STREAM_CASE(4, function, a);                                                               \
    }

/* Joins what the threads of a block have seen to the one word of the result, which was 0. */
GM_DEVICE void stream_join(const stream_args &a, uint32_t seen)
{
    __shared__ uint32_t joined;
    if (threadIdx.x == 0) {
        joined = 0;
    }
    __syncthreads();
    for (int distance = 16; distance > 0; distance /= 2) {
        seen ^= __shfl_down_sync(0xffffffffu, seen, distance);
    }
    if (threadIdx.x % 32 == 0) {
        atomicXor(&joined, seen);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicXor(a.out, joined);
    }
}

/* Vectors of each row that a thread loads before it uses one: four loads in all, or three of three
 * rows. */
template <int reads> struct stream_unroll {
    enum { value = reads <= 1 ? 4 : 4 / reads };
};

GM_DEVICE void stream_mix(uint4 &sum, const uint4 &v)
{
    sum.x ^= v.x, sum.y ^= v.y, sum.z ^= v.z, sum.w ^= v.w;
}

/* A step of a thread: `unroll` vectors of each row, at `first`, first + apart ... All loads are in
 * flight before the first is used. Where nothing is written, `seen` joins what was read. */
template <int reads, bool writing, int unroll>
GM_DEVICE void stream_step(const stream_args &a, int64_t first, int64_t apart, int64_t vectors,
                           uint32_t &seen)
{
    uint4 held[unroll][reads > 0 ? reads : 1];
    uint4 *out = (uint4 *)a.out + first;
#pragma unroll
    for (int u = 0; u < unroll; u++) {
        held[u][0] = make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int r = 0; r < reads; r++) {
            held[u][r] = ((const uint4 *)a.in)[first + u * apart + r * vectors];
        }
    }
#pragma unroll
    for (int u = 0; u < unroll; u++) {
#pragma unroll
        for (int r = 1; r < reads; r++) {
            stream_mix(held[u][0], held[u][r]);
        }
        if (!writing) {
            seen ^= (held[u][0].x ^ held[u][0].y) ^ (held[u][0].z ^ held[u][0].w);
        }
    }
#pragma unroll 1
    for (uint32_t w = 0; writing && w < (uint32_t)a.writes; w++, out += vectors) {
#pragma unroll
        for (int u = 0; u < unroll; u++) {
            const uint32_t flip = w ^ (w + 1); /* to the next row's, in the same registers */
            out[u * apart] = held[u][0];
            stream_mix(held[u][0], make_uint4(flip, flip, flip, flip));
        }
    }
}
#endif

#endif
