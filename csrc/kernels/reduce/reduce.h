/*
 * reduce: out = the sum of all elements.
 */
#ifndef GPUMEM_REDUCE_H
#define GPUMEM_REDUCE_H

#include <stdint.h>

/* Integers are added as unsigned: sums wrap around, with the same bits for both signs. */
enum { REDUCE_INT32, REDUCE_INT64, REDUCE_FLOAT32, REDUCE_FLOAT64 };
enum {
    REDUCE_THREADS = 256, /* of a block */
    REDUCE_BLOCKS = 5,    /* per multiprocessor, where threads have 64 bytes in flight: 80 KiB */
};

typedef struct reduce_args {
    const void *in;
    void *out;
    void *partials;        /* a sum per block, where they are added up later */
    unsigned *blocks_done; /* 0 at the launch */
    int64_t count;
    int type;
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

/* The sum over the block, in thread 0. */
template <typename number> GM_DEVICE number reduce_block(number sum)
{
    return gm_block_sum<REDUCE_THREADS>(sum);
}

GM_DEVICE unsigned reduce_vector(const uint4 &v)
{
    return (v.x + v.y) + (v.z + v.w);
}

GM_DEVICE unsigned long long reduce_vector(const ulonglong2 &v)
{
    return v.x + v.y;
}

GM_DEVICE float reduce_vector(const float4 &v)
{
    return (v.x + v.y) + (v.z + v.w);
}

GM_DEVICE double reduce_vector(const double2 &v)
{
    return v.x + v.y;
}

/* This thread's share of `count` vectors: four loads are in flight before the first addition. */
template <typename number, typename vector>
GM_DEVICE number reduce_vectors(const vector *in, int64_t count)
{
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    number sum = 0;

#pragma unroll 1 /* more loads in flight would take more registers than five blocks have */
    for (; i + 3 * stride < count; i += 4 * stride) {
        const vector v0 = in[i], v1 = in[i + stride];
        const vector v2 = in[i + 2 * stride], v3 = in[i + 3 * stride];
        sum += (reduce_vector(v0) + reduce_vector(v1)) + (reduce_vector(v2) + reduce_vector(v3));
    }
#pragma unroll 1
    for (; i < count; i += stride) {
        sum += reduce_vector(in[i]);
    }
    return sum;
}

/* This thread's share of the whole array, whose first vector may begin behind its first element:
 * the first threads of the grid take the few elements in front of the vectors, and those behind. */
template <typename number, typename vector> GM_DEVICE number reduce_share(const reduce_args &a)
{
    enum { PER_VECTOR = sizeof(vector) / sizeof(number) };
    const number *in = (const number *)a.in;
    const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t past = (int64_t)((uintptr_t)in % sizeof(vector) / sizeof(number));
    const int64_t front = min(past ? PER_VECTOR - past : (int64_t)0, a.count);
    const int64_t vectors = (a.count - front) / PER_VECTOR;
    const int64_t rear = front + vectors * PER_VECTOR;

    number sum = reduce_vectors<number, vector>((const vector *)(in + front), vectors);
    if (thread < front) {
        sum += in[thread];
    }
    if (thread < a.count - rear) {
        sum += in[rear + thread];
    }
    return sum;
}

/* Thread 0 of the block gets the sum of the blocks' sums, which are always added in one order. */
template <typename number> GM_DEVICE number reduce_partials(const number *partials, int count)
{
    number sum = 0;
    for (int i = threadIdx.x; i < count; i += REDUCE_THREADS) {
        sum += __ldcg(&partials[i]);
    }
    return reduce_block(sum);
}
#endif

#endif
