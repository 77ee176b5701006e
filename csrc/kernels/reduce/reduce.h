/*
 * reduce: out = the sum of all elements.
 */
#ifndef GPUMEM_REDUCE_H
#define GPUMEM_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

/* Integers are added as unsigned: sums wrap around, with the same bits for both signs. */
enum { REDUCE_INT32, REDUCE_INT64, REDUCE_FLOAT32, REDUCE_FLOAT64 };
enum {
    REDUCE_THREADS = 256, /* of a block */
    REDUCE_WIDE = 512,    /* of a block whose threads load vectors */
    REDUCE_BLOCKS = 4,    /* of these per multiprocessor: 128 KiB in flight */
    REDUCE_LOADS = 4,     /* vectors of a thread that are in flight */
};
enum {
    REDUCE_MOST_THREADS = 1024, /* of a block of cluster */
    REDUCE_CHUNK_LOADS = 8,     /* vectors of a thread in a chunk, all of them in flight */
    REDUCE_CHUNK_BYTES = REDUCE_CHUNK_LOADS * 32 * 16,
};

typedef struct reduce_args {
    const void *in;
    void *out;
    void *partials;        /* a sum per block, where they are added up later */
    unsigned *blocks_done; /* 0 at the launch */
    int64_t count;
    int type;
    bool once; /* the elements should not stay in the L2: see the plan */
} reduce_args;

#ifdef __cplusplus
#include "atomics.h"
#include "sums.h"

/* Calls function<number, vector>(a) for the type of the elements. A vector has 16 bytes. */
#define REDUCE_BY_TYPE(function, a)                                                                \
    switch ((a).type) {                                                                            \
    case REDUCE_INT32: function<unsigned, uint4>(a); break;                                        \
    case REDUCE_INT64: function<unsigned long long, ulonglong2>(a); break;                         \
    case REDUCE_FLOAT32: function<float, float4>(a); break;                                        \
    case REDUCE_FLOAT64: function<double, double2>(a); break;                                      \
    }

GM_DEVICE unsigned reduce_vector(uint4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

GM_DEVICE unsigned long long reduce_vector(ulonglong2 v)
{
    return v.x + v.y;
}

GM_DEVICE float reduce_vector(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

GM_DEVICE double reduce_vector(double2 v)
{
    return v.x + v.y;
}

/* This thread's share of `count` vectors. Blocks take tiles, REDUCE_LOADS vectors of each thread,
 * whose loads are all in flight before the first addition. */
template <typename number, typename vector, bool ONCE>
GM_DEVICE number reduce_tiles(const vector *in, int64_t count)
{
    const int64_t tile = REDUCE_LOADS * REDUCE_WIDE;
    number sum = 0;

#pragma unroll 1 /* more loads in flight would take more registers than four blocks have */
    for (int64_t begin = blockIdx.x * tile; begin < count; begin += gridDim.x * tile) {
        const vector *from = in + begin + threadIdx.x;
        if (begin + tile <= count) {
            vector v[REDUCE_LOADS];
#pragma unroll
            for (int k = 0; k < REDUCE_LOADS; k++) {
                v[k] = ONCE ? __ldcs(&from[k * REDUCE_WIDE]) : from[k * REDUCE_WIDE];
            }
            sum += (reduce_vector(v[0]) + reduce_vector(v[1])) +
                   (reduce_vector(v[2]) + reduce_vector(v[3]));
            continue;
        }
        const int left = (int)(count - begin) - (int)threadIdx.x;
#pragma unroll
        for (int k = 0; k < REDUCE_LOADS; k++) {
            sum += k * REDUCE_WIDE < left ? reduce_vector(from[k * REDUCE_WIDE]) : (number)0;
        }
    }
    return sum;
}

template <typename number, typename vector>
GM_DEVICE number reduce_vectors(const reduce_args &a, const void *in, int64_t count)
{
    return a.once ? reduce_tiles<number, vector, true>((const vector *)in, count)
                  : reduce_tiles<number, vector, false>((const vector *)in, count);
}

/* Aligned vectors, the elements in front of them, and where those behind them begin. */
typedef struct reduce_parts {
    int64_t front, vectors, rear;
} reduce_parts;

template <typename number, typename vector>
GM_DEVICE reduce_parts reduce_split(const reduce_args &a)
{
    enum { PER_VECTOR = sizeof(vector) / sizeof(number) };
    const int64_t past = (int64_t)((uintptr_t)a.in % sizeof(vector) / sizeof(number));
    reduce_parts parts;
    parts.front = min(past ? PER_VECTOR - past : (int64_t)0, a.count);
    parts.vectors = (a.count - parts.front) / PER_VECTOR;
    parts.rear = parts.front + parts.vectors * PER_VECTOR;
    return parts;
}

/* This thread's share of the whole array: the first threads of the grid take the few elements in
 * front of the vectors, and those behind. */
template <typename number, typename vector> GM_DEVICE number reduce_share(const reduce_args &a)
{
    const number *in = (const number *)a.in;
    const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const reduce_parts parts = reduce_split<number, vector>(a);

    number sum = reduce_vectors<number, vector>(a, in + parts.front, parts.vectors);
    if (thread < parts.front) {
        sum += in[thread];
    }
    if (thread < a.count - parts.rear) {
        sum += in[parts.rear + thread];
    }
    return sum;
}

/* Thread 0 of the block gets the sum of the blocks' sums, which are always added in one order. */
template <int THREADS, typename number>
GM_DEVICE number reduce_partials(const number *partials, int count)
{
    number sum = 0;
    for (int i = threadIdx.x; i < count; i += THREADS) {
        sum += __ldcg(&partials[i]);
    }
    return gm_block_sum<THREADS>(sum);
}
#endif

#endif
