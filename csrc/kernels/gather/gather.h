/* gather: out[k] = in[index[k]]. */
#ifndef GPUMEM_GATHER_H
#define GPUMEM_GATHER_H

#include "gather/index.h"

typedef struct gather_args {
    const char *in, *index;
    char *out;
    int64_t length; /* of in */
    int64_t count;  /* of index and out */
    int itemsize, index_size;
    int mode;
    /* For `any`: bytes from element to element, and the width and number of an element's pieces. */
    int64_t in_stride, index_stride;
    int width, pieces;
    volatile int *verdict; /* of `checked`: see index.h */
} gather_args;

#ifdef __cplusplus
#include "access.h"

/* Which element of `in` is the result's element k. */
template <bool checked = false> GM_DEVICE int64_t gather_place(const gather_args &a, int64_t k)
{
    const int64_t at = gather_index(a.index, a.index_size, a.index_stride, k);
    return gather_follow<checked>(at, a.length, a.mode);
}

template <int unroll, typename unit, bool checked>
GM_DEVICE void gather_unrolled_by(const gather_args &a)
{
    const unit *in = (const unit *)a.in;
    unit *out = (unit *)a.out;
    /* The thread's elements are a block's width apart: the lanes of a warp stay neighbours. */
    const int64_t first = (int64_t)blockIdx.x * blockDim.x * unroll + threadIdx.x;
    const int64_t step = (int64_t)gridDim.x * blockDim.x * unroll;

#pragma unroll 1 /* one turn is the usual case: as many loads as the row says, no more */
    for (int64_t i = first; i < a.count; i += step) {
        int64_t place[unroll];
        unit held[unroll];
        /* All of the index before any of it is looked at: that waits for it. */
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            const int64_t at = min(i + k * (int64_t)blockDim.x, a.count - 1);
            place[k] = gather_index(a.index, a.index_size, a.index_stride, at);
        }
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            const bool there = i + k * (int64_t)blockDim.x < a.count;
            place[k] = there ? gather_follow<checked>(place[k], a.length, a.mode) : -1;
        }
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            if (place[k] >= 0) {
                held[k] = __ldca(&in[place[k]]);
            }
        }
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            if (place[k] >= 0) {
                out[i + k * (int64_t)blockDim.x] = held[k];
            }
        }
    }
}

/* A thread has `unroll` loads in flight before its first store. */
template <int unroll, typename unit> GM_DEVICE void gather_unrolled(const gather_args &a)
{
    /* A loop of its own for each: a division on the way to every place holds the loads up. */
    if (a.mode == GATHER_RAISE) {
        gather_unrolled_by<unroll, unit, true>(a);
    } else {
        gather_unrolled_by<unroll, unit, false>(a);
    }
}
#endif

#endif
