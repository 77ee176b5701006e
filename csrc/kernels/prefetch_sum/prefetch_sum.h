/*
 * prefetch_sum: out[r] = the sum of f(a[r, i]) over i, a block per row.
 *
 * A thread takes elements a block's width apart, one per step. With few warps on a multiprocessor
 * each step waits for its load; the variants differ in how they prefetch the next `distance`
 * elements.
 */
#ifndef GPUMEM_PREFETCH_SUM_H
#define GPUMEM_PREFETCH_SUM_H

#include <stdint.h>

enum {
    PREFETCH_SUM_FARTHEST = 16,  /* the largest distance */
    PREFETCH_SUM_THREADS = 1024, /* the largest block: a thread has 64 registers at most */
    PREFETCH_SUM_BULK_STEPS = 4  /* of a thread, in one copy of the engine */
};

typedef struct prefetch_sum_args {
    const char *in;
    double *out;
    int64_t rows, length;
    int64_t whole;      /* elements of a row in steps in which every thread has one */
    int64_t row_stride; /* bytes from row to row */
    int64_t stride;     /* bytes from element to element; 8 except for `any` */
    int work;           /* rounds of f */
    int distance;       /* steps ahead */
    int pitch;          /* shared doubles per thread, distance and padding */
    int sync;           /* 1: a barrier in each step of the loop */
    int aligned;        /* elements are aligned to their size: always, except for `any` */
} prefetch_sum_args;

#ifdef __cplusplus
#include "device.h"

/* `work` says how long an element keeps a thread busy. */
GM_DEVICE double prefetch_sum_f(double y, int work)
{
#pragma unroll 1
    for (int round = 0; round < work; round++) {
        y = exp(-y * y) + 0.25 * y;
    }
    return y;
}

/* The barrier that many real loops have, in steps in which every thread has an element, i. */
template <bool sync> GM_DEVICE void prefetch_sum_meet(const prefetch_sum_args &a, int64_t i)
{
    if (sync && i - threadIdx.x < a.whole) {
        __syncthreads();
    }
}

/* Adds the threads' sums of row r. Ends with a barrier, after which `partial` may be reused. */
GM_DEVICE void prefetch_sum_store(const prefetch_sum_args &a, int64_t r, double sum)
{
    __shared__ double partial[PREFETCH_SUM_THREADS / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;

    for (int lanes = 16; lanes > 0; lanes /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, lanes);
    }
    if (lane == 0) {
        partial[warp] = sum;
    }
    __syncthreads();
    if (warp == 0) {
        sum = lane < warps ? partial[lane] : 0;
        for (int lanes = 16; lanes > 0; lanes /= 2) {
            sum += __shfl_down_sync(0xffffffffu, sum, lanes);
        }
        if (lane == 0) {
            a.out[r] = sum;
        }
    }
    __syncthreads();
}

/* The body of a kernel: walk(a, row) is this thread's part of a row. */
#define PREFETCH_SUM_EACH_ROW(walk)                                                                \
    for (int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {                                     \
        const double *row = (const double *)(a.in + r * a.row_stride);                             \
        prefetch_sum_store(a, r, walk);                                                            \
    }

/* walk<sync>(...), for a walk whose distance, if any, is a run-time value. */
#define PREFETCH_SUM_SYNC(walk, ...) (a.sync ? walk<true>(__VA_ARGS__) : walk<false>(__VA_ARGS__))

/* Defines by_distance(...), which calls walk<distance, sync>(...): registers cannot be indexed, and
 * a wait's count is part of the instruction, so that the compiler has to know the distance. */
#define PREFETCH_SUM_CASE(walk, distance, ...)                                                     \
    case 2 * distance: return walk<distance, false>(__VA_ARGS__);                                  \
    case 2 * distance + 1:                                                                         \
        return walk<distance, true>(__VA_ARGS__);
#define PREFETCH_SUM_BY_DISTANCE(walk, parameters, ...)                                            \
    GM_DEVICE double by_distance parameters                                                        \
    {                                                                                              \
        switch (2 * a.distance + (a.sync != 0)) {                                                  \
            PREFETCH_SUM_CASE(walk, 1, __VA_ARGS__)                                                \
            PREFETCH_SUM_CASE(walk, 2, __VA_ARGS__)                                                \
            PREFETCH_SUM_CASE(walk, 3, __VA_ARGS__)                                                \
            PREFETCH_SUM_CASE(walk, 4, __VA_ARGS__)                                                \
            PREFETCH_SUM_CASE(walk, 5, __VA_ARGS__)                                                \
            PREFETCH_SUM_CASE(walk, 6, __VA_ARGS__)                                                \
            PREFETCH_SUM_CASE(walk, 7, __VA_ARGS__)                                                \
            PREFETCH_SUM_CASE(walk, 8, __VA_ARGS__)                                                \
            PREFETCH_SUM_CASE(walk, 9, __VA_ARGS__)                                                \
            PREFETCH_SUM_CASE(walk, 10, __VA_ARGS__)                                               \
            PREFETCH_SUM_CASE(walk, 11, __VA_ARGS__)                                               \
            PREFETCH_SUM_CASE(walk, 12, __VA_ARGS__)                                               \
            PREFETCH_SUM_CASE(walk, 13, __VA_ARGS__)                                               \
            PREFETCH_SUM_CASE(walk, 14, __VA_ARGS__)                                               \
            PREFETCH_SUM_CASE(walk, 15, __VA_ARGS__)                                               \
            PREFETCH_SUM_CASE(walk, 16, __VA_ARGS__)                                               \
        }                                                                                          \
        return 0; /* the plan allows no other distance */                                          \
    }
#endif

#endif
